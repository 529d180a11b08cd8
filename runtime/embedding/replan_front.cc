#include "runtime/embedding/replan_front.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "core/units.h"
#include "runtime/embedding/planning.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::Problem;
using embedding::SearchSpace;

// Of 40 parts of the work, the planner gets 24, the search with each weight one, and each search
// for plans that move at most so many bytes three. Without limits the planner gets the default
// work.
constexpr std::uint64_t kPartsInAll = 40;
constexpr std::uint64_t kPartsOfPlanner = 24;
constexpr std::uint64_t kPartsOfLimited = 3;
constexpr std::int64_t kAnyBytes = std::numeric_limits<std::int64_t>::max();
// Weights as multiples of the rating that the best plan gains per GiB moved.
constexpr std::array<double, 4> kWeights{0.125, 0.5, 2, 1000};
// Of searches for plans that move at most so many bytes: multiples of the greatest weight whose
// plan moves more.
constexpr std::array<double, 4> kPartsOfWeight{0.5, 1, 1.5, 2};

double gib(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(kGibibyte);
}

// Thread safety: one thread at a time. Keeps references to `old` and `options`.
class Front {
 public:
  Front(std::shared_ptr<const Problem> problem, const std::vector<PlanEntry>& old,
        const ReplanOptions& options, std::shared_ptr<const SearchSpace> space)
      : problem_(std::move(problem)), old_(old), options_(options), space_(std::move(space)) {}

  Status plan(double weight, std::int64_t most_bytes = kAnyBytes) {
    ReplanOptions options = options_;
    options.migration_weight = weight;
    std::uint64_t parts = results_.empty() ? kPartsOfPlanner : 1;
    if (most_bytes != kAnyBytes) parts = kPartsOfLimited;
    constexpr std::uint64_t kDefault = (kDefaultBestWork / kPartsOfPlanner + 1) * kPartsInAll;
    const std::uint64_t work = options_.plan.work_limit.value_or(kDefault);
    if (options_.plan.work_limit || !options_.plan.time_limit_s)
      options.plan.work_limit = std::max<std::uint64_t>(work / kPartsInAll * parts, 1);
    if (options.plan.time_limit_s)
      *options.plan.time_limit_s *= static_cast<double>(parts) / static_cast<double>(kPartsInAll);
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        EmbeddingPlanResult result,
        results_.empty()
            ? replan_embedding(problem_, old_, options, space_)
            : replan_again(results_.front(), old_, starts(most_bytes), options, most_bytes));
    work_ += result.work.work_steps;
    results_.push_back(std::move(result));
    return {};
  }

  const EmbeddingPlanResult& first() const { return results_.front(); }

  // Searches for plans that move at most `bytes`, with weights about the greatest one whose
  // plan moves more.
  Status approach(std::int64_t bytes) {
    double most = 0;
    for (const EmbeddingPlanResult& result : results_)
      if (moved(result) > bytes) most = std::max(most, result.migration->weight);
    for (const double part : kPartsOfWeight) {
      if (most == 0 || options_.plan.stop.stop_requested()) break;
      SHARDWRIGHT_RETURN_IF_ERROR(plan(most * part, bytes));
    }
    return {};
  }

  // Returns the fastest plan that moves at most `bytes`, among equals the one that moves least; or
  // null.
  const EmbeddingPlanResult* fastest_within(std::int64_t bytes) const {
    const EmbeddingPlanResult* best = nullptr;
    for (const EmbeddingPlanResult& result : results_) {
      if (!result.plan || moved(result) > bytes) continue;
      if (best == nullptr || is_better(result, *best)) best = &result;
    }
    return best;
  }

  // Returns the plan that moves least among those within kWorthMoving of the fastest; or null.
  const EmbeddingPlanResult* cheapest_to_move() const {
    const EmbeddingPlanResult* const fastest = fastest_within(kAnyBytes);
    if (fastest == nullptr) return nullptr;
    const EmbeddingPlanResult* best = fastest;
    for (const EmbeddingPlanResult& result : results_) {
      if (!result.plan || *result.best_rating > *fastest->best_rating * (1 + kWorthMoving))
        continue;
      if (moved(result) < moved(*best)) best = &result;
    }
    return best;
  }

  std::int64_t least_moved() const {
    std::int64_t least = kAnyBytes;
    for (const EmbeddingPlanResult& result : results_)
      if (result.plan) least = std::min(least, moved(result));
    return least;
  }

  EmbeddingPlanResult answer(const EmbeddingPlanResult& chosen,
                             std::optional<std::int64_t> max_move_bytes) const {
    EmbeddingPlanResult result = chosen;
    result.front_bytes = max_move_bytes.value_or(moved(chosen));
    for (const EmbeddingPlanResult& point : results_) {
      if (!point.plan || fastest_within(moved(point)) != &point) continue;
      result.front.push_back({point.migration->weight, moved(point), *point.best_rating});
    }
    std::sort(
        result.front.begin(), result.front.end(),
        [](const ReplanPoint& a, const ReplanPoint& b) { return a.moved_bytes < b.moved_bytes; });
    double bound = first().lower_bound.value_or(0);
    for (const EmbeddingPlanResult& point : results_) {
      const Migration& migration = *point.migration;
      if (migration.lower_bound)
        bound =
            std::max(bound, *migration.lower_bound - migration.weight * gib(result.front_bytes));
    }
    result.front_bound = std::min(bound, *chosen.best_rating);
    result.work.work_steps = work_;
    result.timing.total_s = clock_.seconds();
    return result;
  }

 private:
  // Returns the plans that move at most `most_bytes`, and of the others the one that moves least.
  std::vector<embedding::Plan> starts(std::int64_t most_bytes) const {
    std::vector<embedding::Plan> plans;
    const EmbeddingPlanResult* above = nullptr;
    for (const EmbeddingPlanResult& result : results_) {
      if (!result.plan) continue;
      if (moved(result) <= most_bytes) {
        plans.push_back(*result.plan);
      } else if (above == nullptr || moved(result) < moved(*above)) {
        above = &result;
      }
    }
    if (above != nullptr) plans.push_back(*above->plan);
    return plans;
  }
  static std::int64_t moved(const EmbeddingPlanResult& result) {
    return result.migration->moved_bytes;
  }
  static bool is_better(const EmbeddingPlanResult& a, const EmbeddingPlanResult& b) {
    if (*a.best_rating != *b.best_rating) return *a.best_rating < *b.best_rating;
    return moved(a) < moved(b);
  }

  std::shared_ptr<const Problem> problem_;
  const std::vector<PlanEntry>& old_;
  const ReplanOptions& options_;
  std::shared_ptr<const SearchSpace> space_;
  std::vector<EmbeddingPlanResult> results_;
  Stopwatch clock_;
  std::uint64_t work_ = 0;
};

}  // namespace

Result<EmbeddingPlanResult> replan_on_front(std::shared_ptr<const Problem> problem,
                                            const std::vector<PlanEntry>& old,
                                            const ReplanOptions& options,
                                            std::optional<std::int64_t> max_move_bytes,
                                            std::shared_ptr<const SearchSpace> search_space) {
  Front front(std::move(problem), old, options, std::move(search_space));
  SHARDWRIGHT_RETURN_IF_ERROR(front.plan(0));
  const EmbeddingPlanResult& fastest = front.first();
  if (!fastest.plan || !fastest.migration) return fastest;
  const Migration& migration = *fastest.migration;
  if (migration.moved_bytes > 0) {
    const double kept = migration.rating_kept.value_or(2 * *fastest.best_rating);
    const double gain = std::max(kept - *fastest.best_rating, 1e-9 * kept);
    const double per_gib = gain / gib(migration.moved_bytes);
    for (const double weight : kWeights) {
      if (options.plan.stop.stop_requested()) break;
      SHARDWRIGHT_RETURN_IF_ERROR(front.plan(weight * per_gib));
    }
    if (max_move_bytes) SHARDWRIGHT_RETURN_IF_ERROR(front.approach(*max_move_bytes));
  }
  const EmbeddingPlanResult* const chosen =
      max_move_bytes ? front.fastest_within(*max_move_bytes) : front.cheapest_to_move();
  if (chosen == nullptr) {
    return Error{ErrorCode::kInfeasible,
                 "every plan that was found moves more; the least moves " +
                     format_bytes(Bytes(front.least_moved())),
                 "max_move"};
  }
  return front.answer(*chosen, max_move_bytes);
}

}  // namespace shardwright
