#include "runtime/embedding/sweep.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/embedding/result/memory_parts.h"
#include "runtime/execution/processes/task_dealer.h"
#include "runtime/execution/stopwatch.h"
#include "search/embedding/questions/sweep/memory_chain.h"
#include "search/message.h"

namespace shardwright {
namespace {

using embedding::by_memory;
using embedding::check_grid;
using embedding::evaluate_if_better;
using embedding::Evaluation;
using embedding::machine_sizes;
using embedding::MachineSize;
using embedding::MemoryChain;
using embedding::Plan;
using embedding::Problem;
using embedding::problem_for;
using embedding::ProblemSpec;
using embedding::SearchSpace;
using embedding::SweepGrid;

void describe(EmbeddingPlanResult result, SweepPoint& point) {
  const Problem& problem = *result.problem;
  point.stopped_by = result.stopped_by;
  point.failure = std::move(result.failure);
  if (!result.plan) return;
  const embedding::Topology& topology = problem.topology();
  if (topology.spec().groups) point.sharding_group_size = topology.world_size();
  if (!topology.spec().pod_sizes.empty()) point.pod_size = topology.pod_size();
  point.rating = result.best_rating;
  point.lower_bound = result.lower_bound;
  embedding::Storage peak;
  for (const MemoryParts& parts : memory_parts(problem, *result.reservation, result.evaluation))
    peak = most_of(peak, parts.peak());
  point.peak_hbm_bytes = peak.hbm.value();
  point.peak_ddr_bytes = peak.ddr.value();
  if (problem.topology().counts_ssd()) point.peak_ssd_bytes = peak.ssd.value();
  point.plan = std::move(result.plan);
}

// Plans points that differ in memory alone, from little memory to much.
// Thread safety: one thread at a time.
class ChainPlanner {
 public:
  explicit ChainPlanner(const PlanOptions& options) : options_(options) {}

  // Returns the number of threads.
  Result<int> plan(ProblemSpec spec, SweepPoint& point) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(Problem made, Problem::make(std::move(spec)));
    const auto problem = std::make_shared<const Problem>(std::move(made));
    const embedding::Topology& topology = problem->topology();
    point.ranks = topology.spec().world_size;
    point.ranks_per_host = topology.spec().local_world_size;
    // Plans for another layout are no start.
    const bool is_open = !topology.layouts().empty();
    if (topology.has_hbm() && topology.uniform())
      point.hbm_bytes = topology.storage().front().hbm.value();
    point.batch_size = problem->batch_size();
    PlanOptions options = options_;
    if (options.mode == PlanMode::kBest && chain_.start() && !is_open)
      options.start = chain_.start();
    SHARDWRIGHT_ASSIGN_OR_RETURN(EmbeddingPlanResult result,
                                 plan_embedding(problem, options, space_));
    if (result.search_space && !is_open) space_ = result.search_space;
    if (options.start) keep_start_if_better(*problem, *options.start, result);
    const int threads = result.threads;
    describe(std::move(result), point);
    chain_.add(point.plan, point.rating, point.lower_bound);
    return threads;
  }

  const MemoryChain& chain() const { return chain_; }

 private:
  static void keep_start_if_better(const Problem& problem, const Plan& start,
                                   EmbeddingPlanResult& result) {
    if (!result.reservation) return;
    std::optional<Evaluation> evaluation =
        evaluate_if_better(problem, result.reservation->topology, start, result.best_rating);
    if (!evaluation) return;
    result.plan = start;
    result.best_rating = evaluation->rating;
    result.evaluation = std::move(*evaluation);
    result.failure.reset();
  }

  const PlanOptions& options_;
  std::shared_ptr<const SearchSpace> space_;
  MemoryChain chain_;
};

// A machine that a stop left out.
SweepPoint left_out(const ProblemSpec& problem, const SweepGrid& grid, const MachineSize& size,
                    std::size_t memory) {
  const std::int64_t per_host = grid.ranks_per_host.value_or(problem.topology.local_world_size);
  SweepPoint point;
  point.ranks = size.ranks;
  point.ranks_per_host = per_host == 0 ? size.ranks : std::min(per_host, size.ranks);
  if (!grid.hbm_bytes.empty()) point.hbm_bytes = grid.hbm_bytes[memory];
  point.batch_size = size.batch_size;
  point.stopped_by = StopReason::kCancelled;
  return point;
}

// Adds one point per memory, in the order of the grid.
Status plan_size(const ProblemSpec& problem, const SweepGrid& grid, const MachineSize& size,
                 const PlanOptions& options, Sweep& sweep) {
  const std::vector<std::size_t> order = by_memory(grid);
  const std::size_t first = sweep.points.size();
  sweep.points.resize(first + order.size());
  ChainPlanner planner(options);
  for (const std::size_t i : order) {
    if (options.stop.stop_requested()) {
      sweep.points[first + i] = left_out(problem, grid, size, i);
      continue;
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        sweep.threads, planner.plan(problem_for(problem, grid, size, i), sweep.points[first + i]));
  }
  const std::vector<std::optional<double>> bounds = planner.chain().lower_bounds();
  // Machines that were left out are the last ones.
  for (std::size_t i = 0; i < bounds.size(); ++i)
    sweep.points[first + order[i]].lower_bound = bounds[i];
  return {};
}

void put(MessageWriter& to, const SweepPoint& point) {
  for (const std::int64_t number : {point.ranks, point.ranks_per_host, point.batch_size,
                                    point.peak_hbm_bytes, point.peak_ddr_bytes})
    to.put(number);
  for (const std::optional<std::int64_t>& number :
       {point.hbm_bytes, point.sharding_group_size, point.pod_size, point.peak_ssd_bytes})
    to.put_if(number);
  to.put_if(point.rating);
  to.put_if(point.lower_bound);
  to.put(static_cast<std::uint8_t>(point.stopped_by));
  to.put_flag(point.failure.has_value());
  if (!point.failure) return;
  to.put(static_cast<std::uint8_t>(point.failure->type));
  to.put(static_cast<std::uint8_t>(point.failure->reason));
  to.put_text(point.failure->message);
  to.put_flag(point.failure->proof.has_value());
  if (point.failure->proof) to.put(static_cast<std::uint8_t>(*point.failure->proof));
}

SweepPoint get_point(MessageReader& from) {
  SweepPoint point;
  for (std::int64_t* const number : {&point.ranks, &point.ranks_per_host, &point.batch_size,
                                     &point.peak_hbm_bytes, &point.peak_ddr_bytes})
    *number = from.get<std::int64_t>();
  for (std::optional<std::int64_t>* const number :
       {&point.hbm_bytes, &point.sharding_group_size, &point.pod_size, &point.peak_ssd_bytes})
    *number = from.get_if<std::int64_t>();
  point.rating = from.get_if<double>();
  point.lower_bound = from.get_if<double>();
  point.stopped_by = static_cast<StopReason>(from.get<std::uint8_t>());
  if (!from.get_flag()) return point;
  PlanFailure& failure = point.failure.emplace();
  failure.type = static_cast<FailureType>(from.get<std::uint8_t>());
  failure.reason = static_cast<FailureReason>(from.get<std::uint8_t>());
  failure.message = from.get_text();
  if (from.get_flag()) failure.proof = static_cast<AbsenceProof>(from.get<std::uint8_t>());
  return point;
}

// The points of one size, or why they could not be planned.
std::string to_message(const Status& status, const Sweep& points) {
  MessageWriter to;
  to.put_flag(status.ok());
  if (!status.ok()) {
    to.put(static_cast<std::uint8_t>(status.error().code));
    to.put_text(status.error().message);
    to.put_text(status.error().where);
    return to.take();
  }
  to.put(points.threads);
  to.put(static_cast<std::uint32_t>(points.points.size()));
  for (const SweepPoint& point : points.points)
    put(to, point);
  return to.take();
}

// Adds the points of a message of another process of this build.
Status add_points(const std::string& message, Sweep& sweep) {
  MessageReader from(message);
  if (!from.get_flag()) {
    Error error;
    error.code = static_cast<ErrorCode>(from.get<std::uint8_t>());
    error.message = from.get_text();
    error.where = from.get_text();
    return error;
  }
  sweep.threads = from.get<int>();
  for (auto left = from.get<std::uint32_t>(); left > 0; --left)
    sweep.points.push_back(get_point(from));
  return {};
}

// Sizes are planned by processes as they become free.
Status deal_sizes(const ProblemSpec& problem, const SweepGrid& grid, const PlanOptions& options,
                  TaskDealer& dealer, Sweep& sweep) {
  const std::vector<MachineSize> sizes = machine_sizes(problem, grid);
  Status first_error;
  std::size_t taken = 0;
  const auto work = [&](std::size_t i) {
    Sweep points;
    const Status status = plan_size(problem, grid, sizes[i], options, points);
    return to_message(status, points);
  };
  const auto take = [&](std::size_t, const std::string& message) {
    ++taken;
    Status added = add_points(message, sweep);
    if (first_error.ok()) first_error = std::move(added);
  };
  if (dealer.deal(sizes.size(), work, take)) return first_error;
  for (; taken < sizes.size(); ++taken) {
    for (std::size_t memory = 0; memory < by_memory(grid).size(); ++memory)
      sweep.points.push_back(left_out(problem, grid, sizes[taken], memory));
  }
  return first_error;
}

}  // namespace

bool Sweep::any_fits() const {
  return std::any_of(points.begin(), points.end(), [](const SweepPoint& p) { return p.fits(); });
}

std::string why_not(const SweepPoint& point) {
  if (point.fits()) return "";
  if (!point.failure)
    return "stopped by " + std::string(text_of(point.stopped_by)) + " before anything was found";
  const std::string& message = point.failure->message;
  std::size_t end = std::min(message.find(". "), message.find("; "));
  if (end == std::string::npos) end = message.size();
  while (end > 0 && message[end - 1] == '.')
    --end;
  return message.substr(0, end);
}

std::vector<SmallestMachine> smallest_machines(const Sweep& sweep) {
  std::vector<SmallestMachine> machines;
  for (const SweepPoint& point : sweep.points) {
    auto at = std::find_if(machines.begin(), machines.end(), [&](const SmallestMachine& machine) {
      return machine.hbm_bytes == point.hbm_bytes && machine.batch_size == point.batch_size;
    });
    if (at == machines.end())
      at = machines.insert(at, {point.hbm_bytes, point.batch_size, std::nullopt});
    if (point.fits()) at->ranks = std::min(at->ranks.value_or(point.ranks), point.ranks);
  }
  return machines;
}

std::vector<std::size_t> best_by_ranks(const Sweep& sweep) {
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    if (!point.fits()) continue;
    const auto known = std::find_if(best.begin(), best.end(), [&](std::size_t other) {
      return sweep.points[other].ranks == point.ranks &&
             sweep.points[other].batch_size == point.batch_size;
    });
    if (known == best.end()) {
      best.push_back(i);
    } else if (*point.rating < *sweep.points[*known].rating) {
      *known = i;
    }
  }
  return best;
}

Result<Sweep> sweep_embedding(const ProblemSpec& problem, const SweepGrid& grid,
                              const PlanOptions& options, TaskDealer* dealer) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_grid(grid));
  const Stopwatch watch;
  Sweep sweep;
  if (dealer != nullptr) {
    SHARDWRIGHT_RETURN_IF_ERROR(deal_sizes(problem, grid, options, *dealer, sweep));
  } else {
    for (const MachineSize& size : machine_sizes(problem, grid))
      SHARDWRIGHT_RETURN_IF_ERROR(plan_size(problem, grid, size, options, sweep));
  }
  sweep.total_s = watch.seconds();
  return sweep;
}

}  // namespace shardwright
