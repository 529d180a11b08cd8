#include "runtime/embedding/balance.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/embedding/evaluate.h"
#include "runtime/embedding/planner.h"

namespace shardwright {
namespace {

using embedding::Evaluation;
using embedding::MemoryTier;
using embedding::Plan;
using embedding::Problem;
using embedding::ProblemSpec;
using embedding::Storage;

constexpr int kSteps = 6;  // of the bisection: the last one is a 64th of the range
constexpr std::uint64_t kWorkOfStep = kDefaultBestWork / 20;

std::int64_t peak_of(const Evaluation& evaluation, MemoryTier tier) {
  std::int64_t peak = 0;
  for (const Storage& rank : evaluation.storage_by_rank)
    peak = std::max(peak, rank[tier].value());
  return peak;
}

std::int64_t mean_of(const Evaluation& evaluation, MemoryTier tier) {
  std::int64_t sum = 0;
  for (const Storage& rank : evaluation.storage_by_rank)
    sum += rank[tier].value();
  return sum / static_cast<std::int64_t>(evaluation.storage_by_rank.size());
}

// Returns the problem with at most `bytes` of memory for tables on every rank.
Result<std::shared_ptr<const Problem>> limited_to(const EmbeddingPlanResult& result,
                                                  MemoryTier tier, std::int64_t bytes) {
  ProblemSpec spec = result.problem->spec();
  const std::int64_t free = result.reservation->topology.storage().front()[tier].value() - bytes;
  std::vector<std::int64_t>& reserved = spec.memory.reserved_bytes[tier];
  if (reserved.empty()) reserved.push_back(0);
  for (std::int64_t& of_rank : reserved)
    of_rank += free;
  SHARDWRIGHT_ASSIGN_OR_RETURN(Problem made, Problem::make(std::move(spec)));
  return std::make_shared<const Problem>(std::move(made));
}

}  // namespace

Status balance_memory(double slack, const PlanOptions& options, EmbeddingPlanResult& result) {
  if (!(slack >= 0 && slack < 1))
    return invalid_input("memory_slack", "must be a share from 0 to 1, such as 0.001");
  const bool is_uniform = result.reservation && result.reservation->topology.uniform();
  if (!result.plan || result.plan->empty() || !is_uniform || options.parts != nullptr) return {};
  const Problem& problem = *result.problem;
  const MemoryTier tier = problem.topology().has_hbm() ? MemoryTier::kHbm : MemoryTier::kDdr;
  const double most = *result.best_rating * (1 + slack);
  std::int64_t low = mean_of(result.evaluation, tier);
  PlanOptions step = further_search(options, kWorkOfStep);
  step.to_beat = most;
  result.before_balance = UnbalancedPlan{*result.best_rating, result.evaluation.storage_by_rank};
  for (int i = 0; i < kSteps && !options.stop.stop_requested(); ++i) {
    const std::int64_t peak = peak_of(result.evaluation, tier);
    const std::int64_t middle = low + (peak - low) / 2;
    if (middle >= peak || middle <= 0) break;
    SHARDWRIGHT_ASSIGN_OR_RETURN(const auto limited, limited_to(result, tier, middle));
    step.start = std::make_shared<const Plan>(*result.plan);
    SHARDWRIGHT_ASSIGN_OR_RETURN(const EmbeddingPlanResult found,
                                 plan_embedding(limited, step, result.search_space));
    result.work.work_steps += found.work.work_steps;
    std::optional<Evaluation> evaluation;
    if (found.plan)
      evaluation = embedding::evaluate(problem, result.reservation->topology, *found.plan);
    if (!evaluation || !evaluation->valid() || evaluation->rating > most) {
      low = middle;
      continue;
    }
    result.plan = found.plan;
    result.best_rating = evaluation->rating;
    result.evaluation = *std::move(evaluation);
  }
  return {};
}

}  // namespace shardwright
