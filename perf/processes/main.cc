// Counts what best mode does in many processes, which are threads of this program.
//
// Usage: perf_processes CASE PROCESSES LANES WORK. Prints one JSON object.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "perf/support/workloads.h"
#include "runtime/embedding/planner.h"
#include "runtime/execution/processes/thread_exchange.h"

int main(int argument_count, char** arguments) {
  using namespace shardwright;
  if (argument_count != 5) {
    std::fputs("usage: perf_processes CASE PROCESSES LANES WORK\n", stderr);
    return 2;
  }
  const perf::Workload workload = perf::require(perf::load_workload(arguments[1]));
  const auto processes = static_cast<std::uint32_t>(std::stoul(arguments[2]));
  PlanOptions options;
  options.threads = 1;
  options.lanes = static_cast<std::uint32_t>(std::stoul(arguments[3]));
  options.work_limit = std::stoull(arguments[4]);
  const auto answers = run_processes(processes, [&](ThreadExchange& exchange) {
    PlanOptions own = options;
    own.exchange = &exchange;
    return perf::require(plan_embedding(workload.problem, own));
  });
  std::vector<std::uint64_t> steps;
  std::uint64_t most_bytes = 0;
  std::uint64_t bytes = 0;
  for (const EmbeddingPlanResult& answer : answers) {
    steps.push_back(answer.work.own_steps);
    most_bytes = std::max(most_bytes, answer.work.exchange.most_bytes);
    bytes += answer.work.exchange.bytes;
  }
  const EmbeddingPlanResult& first = answers.front();
  const nlohmann::json found = {{"case", workload.name},
                                {"processes", processes},
                                {"lanes", options.lanes},
                                {"rating", first.best_rating.value_or(0)},
                                {"steps_by_process", steps},
                                {"span_steps", first.work.span_steps},
                                {"process_span_steps", first.work.process_span_steps},
                                {"rounds", first.work.exchange.rounds},
                                {"bytes", bytes},
                                {"most_bytes", most_bytes}};
  std::printf("%s\n", found.dump().c_str());
  return 0;
}
