#include "runtime/embedding/sweep.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/embedding/result/memory_parts.h"
#include "runtime/execution/stopwatch.h"
#include "search/embedding/questions/sweep/memory_chain.h"

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
                              const PlanOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_grid(grid));
  const Stopwatch watch;
  Sweep sweep;
  for (const MachineSize& size : machine_sizes(problem, grid))
    SHARDWRIGHT_RETURN_IF_ERROR(plan_size(problem, grid, size, options, sweep));
  sweep.total_s = watch.seconds();
  return sweep;
}

}  // namespace shardwright
