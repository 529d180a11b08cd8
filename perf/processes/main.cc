// Counts what many processes do, which are threads of this program.
//
// Usage: perf_processes plan CASE PROCESSES LANES WORK
//        perf_processes solve CONTEST_INSTANCE PROCESSES WORK
//        perf_processes sweep CASE PROCESSES LANES WORK
// Prints one JSON object.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "perf/support/workloads.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/sweep/sweep.h"
#include "runtime/execution/processes/task_dealer.h"
#include "runtime/execution/processes/thread_exchange.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/instance/contest_json.h"
#include "runtime/operators/solve.h"

namespace {

using namespace shardwright;

struct Arguments {
  std::string what;
  std::string input;
  std::uint32_t processes = 1;
  std::uint32_t lanes = 0;
  std::uint64_t work = 0;
};

// What one process sent and did.
struct Counted {
  std::uint64_t steps = 0;
  ExchangeTraffic traffic;
};

nlohmann::json describe(const std::string& name, const Arguments& arguments,
                        const std::vector<Counted>& by_process) {
  std::vector<std::uint64_t> steps;
  std::uint64_t bytes = 0;
  std::uint64_t most_bytes = 0;
  for (const Counted& own : by_process) {
    steps.push_back(own.steps);
    bytes += own.traffic.bytes;
    most_bytes = std::max(most_bytes, own.traffic.most_bytes);
  }
  return {{"case", name},
          {"processes", arguments.processes},
          {"steps_by_process", steps},
          {"rounds", by_process.front().traffic.rounds},
          {"bytes", bytes},
          {"most_bytes", most_bytes}};
}

nlohmann::json count_plan(const Arguments& arguments) {
  const perf::Workload workload = perf::require(perf::load_workload(arguments.input));
  PlanOptions options;
  options.threads = 1;
  options.lanes = arguments.lanes;
  options.work_limit = arguments.work;
  const auto answers = run_processes(arguments.processes, [&](ThreadExchange& exchange) {
    PlanOptions own = options;
    own.exchange = &exchange;
    return perf::require(plan_embedding(workload.problem, own));
  });
  std::vector<Counted> counted;
  for (const EmbeddingPlanResult& answer : answers)
    counted.push_back({answer.work.own_steps, answer.work.exchange});
  nlohmann::json found = describe(workload.name, arguments, counted);
  const EmbeddingPlanResult& first = answers.front();
  found["lanes"] = arguments.lanes;
  found["rating"] = first.best_rating.value_or(0);
  found["span_steps"] = first.work.span_steps;
  found["process_span_steps"] = first.work.process_span_steps;
  return found;
}

nlohmann::json count_solve(const Arguments& arguments) {
  const std::string text = perf::require(read_file(arguments.input));
  const operators::OperatorProblem problem(
      operators::LoweredInstance(perf::require(read_contest_instance(text, std::nullopt))));
  OperatorsOptions options;
  options.threads = 1;
  options.work_limit = arguments.work;
  const auto answers = run_processes(arguments.processes, [&](ThreadExchange& exchange) {
    OperatorsOptions own = options;
    own.exchange = &exchange;
    return perf::require(solve_operators(problem, own));
  });
  std::vector<Counted> counted;
  for (const OperatorsResult& answer : answers)
    counted.push_back({answer.own_work, answer.exchange});
  nlohmann::json found = describe(arguments.input, arguments, counted);
  found["objective"] = answers.front().objective;
  found["work"] = answers.front().work;
  return found;
}

// Gives every task to the process that has done the fewest steps: it is the first one to be free.
class CountingDealer final : public TaskDealer {
 public:
  explicit CountingDealer(std::uint32_t processes) : steps_(processes) {}

  bool deal(std::size_t count, const std::function<std::string(std::size_t)>& work,
            const std::function<void(std::size_t, const std::string&)>& take) override {
    for (std::size_t task = 0; task < count; ++task) {
      current_ = std::min_element(steps_.begin(), steps_.end()) - steps_.begin();
      take(task, work(task));
      *(steps_.begin() + current_) += std::exchange(last_, 0);
    }
    return true;
  }
  // The steps of a plan so far. They fall when another plan begins.
  void note(std::uint64_t steps) {
    if (steps < last_) *(steps_.begin() + current_) += last_;
    last_ = steps;
  }
  const std::vector<std::uint64_t>& steps() const { return steps_; }

 private:
  std::vector<std::uint64_t> steps_;
  std::ptrdiff_t current_ = 0;
  std::uint64_t last_ = 0;
};

// 64 points: 16 numbers of ranks and 4 batch sizes, each of which is a task.
nlohmann::json count_sweep(const Arguments& arguments) {
  constexpr std::int64_t kSizes = 16;
  constexpr std::int64_t kFirstBatch = 256;
  const perf::Workload workload = perf::require(perf::load_workload(arguments.input));
  embedding::SweepGrid grid;
  for (std::int64_t ranks = 1; ranks <= kSizes; ++ranks)
    grid.ranks.push_back(workload.problem->topology().local_world_size() * ranks);
  for (std::int64_t batch = kFirstBatch; batch <= kFirstBatch * 8; batch *= 2)
    grid.batch_sizes.push_back(batch);
  CountingDealer dealer(arguments.processes);
  PlanOptions options;
  options.threads = 1;
  options.lanes = arguments.lanes;
  options.work_limit = arguments.work;
  options.on_progress = [&](const PlanProgress& progress) { dealer.note(progress.work_steps); };
  const Sweep swept =
      perf::require(sweep_embedding(workload.problem->spec(), grid, options, &dealer));
  std::vector<Counted> counted;
  for (const std::uint64_t steps : dealer.steps())
    counted.push_back({steps, {}});
  nlohmann::json found = describe(workload.name, arguments, counted);
  found["lanes"] = arguments.lanes;
  found["points"] = swept.points.size();
  return found;
}

int refuse() {
  std::fputs(
      "usage: perf_processes plan|sweep CASE PROCESSES LANES WORK\n"
      "       perf_processes solve CONTEST_INSTANCE PROCESSES WORK\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::vector<std::string> given(arguments + 1, arguments + argument_count);
  if (given.empty()) return refuse();
  const bool solves = given[0] == "solve";
  if (!solves && given[0] != "plan" && given[0] != "sweep") return refuse();
  if (given.size() != (solves ? 4U : 5U)) return refuse();
  Arguments all;
  all.what = given[0];
  all.input = given[1];
  all.processes = static_cast<std::uint32_t>(std::stoul(given[2]));
  if (!solves) all.lanes = static_cast<std::uint32_t>(std::stoul(given[3]));
  all.work = std::stoull(given.back());
  const nlohmann::json found = solves               ? count_solve(all)
                               : all.what == "plan" ? count_plan(all)
                                                    : count_sweep(all);
  std::printf("%s\n", found.dump().c_str());
  return 0;
}
