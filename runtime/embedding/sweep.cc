#include "runtime/embedding/sweep.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "runtime/embedding/result/memory_parts.h"
#include "runtime/execution/stopwatch.h"

namespace shardwright {
namespace {

using embedding::Plan;
using embedding::Problem;
using embedding::ProblemSpec;
using embedding::SearchSpace;

using Key = std::pair<std::int64_t, std::int64_t>;

// Combinations that differ in memory alone.
class MemorySweep {
 public:
  MemorySweep(const ProblemSpec& base, const PlanOptions& options, Sweep& sweep)
      : base_(base), options_(options), sweep_(sweep), first_(sweep.points.size()) {}

  // Plans the points from little to much memory; adds them in the order of `hbm_bytes`.
  Status run(const std::vector<std::int64_t>& hbm_bytes) {
    std::vector<std::size_t> order(std::max<std::size_t>(hbm_bytes.size(), 1));
    std::iota(order.begin(), order.end(), std::size_t{0});
    sweep_.points.resize(first_ + order.size());
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return !hbm_bytes.empty() && hbm_bytes[a] < hbm_bytes[b];
    });
    for (const std::size_t i : order) {
      ProblemSpec spec = base_;
      if (!hbm_bytes.empty()) {
        spec.topology.hbm_cap_bytes = hbm_bytes[i];
        spec.topology.custom_hbm_cap_bytes.clear();
      }
      SHARDWRIGHT_RETURN_IF_ERROR(plan(std::move(spec), sweep_.points[first_ + i]));
    }
    tighten_bounds(order);
    return {};
  }

 private:
  Status plan(ProblemSpec spec, SweepPoint& point) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(Problem made, Problem::make(std::move(spec)));
    const auto problem = std::make_shared<const Problem>(std::move(made));
    const embedding::Topology& topology = problem->topology();
    point.ranks = topology.world_size();
    point.ranks_per_host = topology.local_world_size();
    if (topology.has_hbm() && topology.uniform())
      point.hbm_bytes = topology.storage().front().hbm.value();
    point.batch_size = problem->batch_size();
    PlanOptions options = options_;
    if (options.mode == PlanMode::kBest && less_) options.start = less_;
    SHARDWRIGHT_ASSIGN_OR_RETURN(EmbeddingPlanResult result,
                                 plan_embedding(problem, options, space_));
    if (result.search_space) space_ = result.search_space;
    if (options.start) keep_if_better(*problem, *options.start, result);
    sweep_.threads = result.threads;
    describe(*problem, std::move(result), point);
    return {};
  }

  // The plan of a point with less memory.
  static void keep_if_better(const Problem& problem, const Plan& less,
                             EmbeddingPlanResult& result) {
    if (!result.reservation) return;
    embedding::Evaluation evaluation =
        embedding::evaluate(problem, result.reservation->topology, less);
    if (!evaluation.valid()) return;
    if (result.best_rating && *result.best_rating <= evaluation.rating) return;
    result.plan = less;
    result.best_rating = evaluation.rating;
    result.evaluation = std::move(evaluation);
    result.failure.reset();
  }

  void describe(const Problem& problem, EmbeddingPlanResult result, SweepPoint& point) {
    point.stopped_by = result.stopped_by;
    point.failure = std::move(result.failure);
    if (!result.plan) return;
    point.rating = result.best_rating;
    point.lower_bound = result.lower_bound;
    for (const MemoryParts& parts : memory_parts(problem, *result.reservation, result.evaluation)) {
      point.peak_hbm_bytes = std::max(point.peak_hbm_bytes, parts.peak().hbm.value());
      point.peak_ddr_bytes = std::max(point.peak_ddr_bytes, parts.peak().ddr.value());
    }
    point.plan = *result.plan;
    less_ = std::make_shared<const Plan>(*std::move(result.plan));
  }

  // What no plan rates below with more memory, none does with less.
  void tighten_bounds(const std::vector<std::size_t>& order) {
    std::optional<double> bound;
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
      SweepPoint& point = sweep_.points[first_ + *i];
      if (!point.lower_bound) continue;
      bound = std::max(bound.value_or(0), *point.lower_bound);
      point.lower_bound = std::min(*bound, *point.rating);
    }
  }

  const ProblemSpec& base_;
  const PlanOptions& options_;
  Sweep& sweep_;
  std::size_t first_;
  std::shared_ptr<const SearchSpace> space_;
  std::shared_ptr<const Plan> less_;
};

Status check(const SweepGrid& grid) {
  for (const auto& [flag, values] :
       {std::pair{"--ranks", &grid.ranks}, std::pair{"--hbm", &grid.hbm_bytes},
        std::pair{"--batch-size", &grid.batch_sizes}}) {
    for (const std::int64_t value : *values) {
      if (value < 1) return invalid_input(flag, "must be above zero");
    }
  }
  if (grid.ranks_per_host && *grid.ranks_per_host < 1)
    return invalid_input("--ranks-per-host", "must be above zero");
  return {};
}

void set_ranks(const SweepGrid& grid, std::int64_t ranks, embedding::TopologySpec& topology) {
  topology.world_size = ranks;
  if (grid.ranks_per_host) topology.local_world_size = *grid.ranks_per_host;
  topology.local_world_size = std::min(topology.local_world_size, ranks);
}

}  // namespace

bool Sweep::any_fits() const {
  return std::any_of(points.begin(), points.end(), [](const SweepPoint& p) { return p.fits(); });
}

std::string why_not(const SweepPoint& point) {
  if (point.fits()) return "";
  if (!point.failure) return "stopped by the " + point.stopped_by + " before anything was found";
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
      return Key(sweep.points[other].ranks, sweep.points[other].batch_size) ==
             Key(point.ranks, point.batch_size);
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
  SHARDWRIGHT_RETURN_IF_ERROR(check(grid));
  const Stopwatch watch;
  Sweep sweep;
  const std::size_t sizes = std::max<std::size_t>(grid.ranks.size(), 1);
  for (std::size_t i = 0; i < sizes; ++i) {
    ProblemSpec spec = problem;
    set_ranks(grid, grid.ranks.empty() ? spec.topology.world_size : grid.ranks[i], spec.topology);
    std::vector<std::int64_t> batch_sizes = grid.batch_sizes;
    if (batch_sizes.empty()) {
      const bool own = i < grid.batch_size_of_ranks.size();
      batch_sizes.push_back(own ? grid.batch_size_of_ranks[i] : spec.batch_size);
    }
    for (const std::int64_t batch_size : batch_sizes) {
      spec.batch_size = batch_size;
      SHARDWRIGHT_RETURN_IF_ERROR(MemorySweep(spec, options, sweep).run(grid.hbm_bytes));
    }
  }
  sweep.total_s = watch.seconds();
  return sweep;
}

}  // namespace shardwright
