#include "runtime/embedding/sweep.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/embedding/memory_parts.h"
#include "runtime/embedding/sweep_points.h"
#include "runtime/execution/processes/task_dealer.h"
#include "runtime/execution/stopwatch.h"
#include "search/embedding/questions/sweep_grid.h"

namespace shardwright {
namespace {

using embedding::by_memory;
using embedding::check_grid;
using embedding::evaluate_if_better;
using embedding::Evaluation;
using embedding::hourly_price;
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

// Plans points that differ only in memory, in ascending order of memory.
// Thread safety: one thread at a time.
class ChainPlanner {
 public:
  explicit ChainPlanner(const PlanOptions& options) : options_(options) {}

  // Plans one point and returns the number of threads used.
  Result<int> plan(ProblemSpec spec, SweepPoint& point) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(Problem made, Problem::make(std::move(spec)));
    const auto problem = std::make_shared<const Problem>(std::move(made));
    const embedding::Topology& topology = problem->topology();
    point.ranks = topology.spec().world_size;
    point.ranks_per_host = topology.spec().local_world_size;
    // If the layout is open, the start may be a plan for another layout.
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

// Returns the point of a machine that was not planned because of a stop.
SweepPoint unplanned(const ProblemSpec& problem, const SweepGrid& grid, const MachineSize& size,
                     std::size_t memory) {
  const std::int64_t per_host = grid.ranks_per_host.value_or(problem.topology.local_world_size);
  SweepPoint point;
  point.ranks = size.ranks;
  point.ranks_per_host = per_host == 0 ? size.ranks : std::min(per_host, size.ranks);
  if (!grid.hbm_bytes.empty()) point.hbm_bytes = grid.hbm_bytes[memory];
  point.batch_size = size.batch_size;
  point.price_per_hour = hourly_price(grid, size.ranks, memory);
  point.stopped_by = StopReason::kCancelled;
  return point;
}

// Adds one point per memory size, in the order of the grid. Errors: all but those about the
// machine.
Status plan_size(const ProblemSpec& problem, const SweepGrid& grid, const MachineSize& size,
                 const PlanOptions& options, Sweep& sweep) {
  const std::vector<std::size_t> order = by_memory(grid);
  const std::size_t first = sweep.points.size();
  sweep.points.resize(first + order.size());
  std::vector<std::size_t> planned;
  ChainPlanner planner(options);
  for (const std::size_t i : order) {
    SweepPoint& point = sweep.points[first + i];
    point = unplanned(problem, grid, size, i);
    if (options.stop.stop_requested()) continue;
    const Result<int> threads = planner.plan(problem_for(problem, grid, size, i), point);
    if (threads.ok()) {
      planned.push_back(first + i);
      sweep.threads = *threads;
    } else if (threads.error().code == ErrorCode::kInvalidInput) {
      point.stopped_by = StopReason::kFinished;
      point.invalid = threads.error();
    } else {
      return threads.error();
    }
  }
  const std::vector<std::optional<double>> bounds = planner.chain().lower_bounds();
  for (std::size_t i = 0; i < bounds.size(); ++i)
    sweep.points[planned[i]].lower_bound = bounds[i];
  return {};
}

// Deals the machine sizes to processes as they become free.
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
      sweep.points.push_back(unplanned(problem, grid, sizes[taken], memory));
  }
  return first_error;
}

}  // namespace

bool Sweep::any_fits() const {
  return std::any_of(points.begin(), points.end(), [](const SweepPoint& p) { return p.fits(); });
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
  const bool none_is_valid =
      std::all_of(sweep.points.begin(), sweep.points.end(),
                  [](const SweepPoint& point) { return point.invalid.has_value(); });
  if (none_is_valid && !sweep.points.empty()) return *sweep.points.front().invalid;
  sweep.total_s = watch.seconds();
  return sweep;
}

}  // namespace shardwright
