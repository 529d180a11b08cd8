#include "search/embedding/compat/scaleup_proposer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/embedding/problem/table.h"
#include "search/embedding/compat/load_factor_options.h"

namespace shardwright::embedding {

LuusJaakolaSearch::LuusJaakolaSearch(double left, double right, int max_iterations,
                                     std::optional<double> left_cost)
    : left_(left),
      right_(right),
      max_iterations_(max_iterations),
      left_known_(left_cost.has_value()),
      range_(right - left) {
  best_ = uniform(left_, right_);
}

// torch.rand keeps the low 24 bits of a 32-bit draw, so the float is in [0, 1).
double LuusJaakolaSearch::uniform(double a, double b) {
  constexpr std::uint32_t kMask = (1U << 24) - 1;
  const double u = static_cast<double>(generator_() & kMask) / (1U << 24);
  return a + (b - a) * u;
}

void LuusJaakolaSearch::shrink_right(double right) {
  right_ = right;
  right_known_ = true;
  range_ = right_ - left_;
  best_ = clamp(best_);
}

std::optional<double> LuusJaakolaSearch::next(double cost) {
  ++iteration_;
  if (iteration_ == 0) return best_;
  if (iteration_ == 1) {
    best_cost_ = cost;
  } else if (iteration_ == max_iterations_) {
    return std::nullopt;
  } else if (cost <= best_cost_) {
    best_ = probe_;
    best_cost_ = cost;
    range_ = 0.95 * range_;
  }
  if (probe_ == left_) {
    left_known_ = true;
  } else if (probe_ == right_) {
    right_known_ = true;
  }
  // A draw that is clamped to a boundary of known cost is repeated. If the range has collapsed,
  // only boundaries remain, and the search ends.
  constexpr int kMaxDraws = 1'000'000;
  for (int draw = 0; draw < kMaxDraws; ++draw) {
    const double y = clamp(best_ + uniform(-range_, range_));
    if ((y == left_ && left_known_) || (y == right_ && right_known_)) continue;
    probe_ = y;
    return y;
  }
  return std::nullopt;
}

namespace {

constexpr double kNoRating = 1e99;
// From this load factor on, a cache holds the whole table, up to rounding.
constexpr float kFullLoadFactor = 0.9999F;

std::int64_t hbm_bytes(const ShardingOption& option) { return option.total_storage().hbm.value(); }

std::int64_t total_hbm(const std::vector<ShardingOption>& options) {
  std::int64_t total = 0;
  for (const ShardingOption& option : options)
    total += hbm_bytes(option);
  return total;
}

const CacheStatistics* statistics(const Problem& problem, const ShardingOption& option) {
  const auto& constraints = problem.table(option.table).constraints;
  if (!constraints || !constraints->cache_params || !constraints->cache_params->stats)
    return nullptr;
  return &*constraints->cache_params->stats;
}

bool cached(const ShardingOption& option) {
  return option.compute_kernel == ComputeKernel::kFusedUvmCaching;
}

}  // namespace

EmbeddingOffloadScaleupProposer::EmbeddingOffloadScaleupProposer(const ProposerSpec& spec,
                                                                 const OptionPool& pool,
                                                                 const Topology& available,
                                                                 const CostModel* cost_model)
    : problem_(&pool.problem()),
      estimator_(pool.problem()),
      cost_model_(cost_model),
      available_hbm_bytes_(available.total_storage().hbm.value()),
      starting_(best_options(pool, spec.use_depth)) {
  promote_where_cache_costs_more(starting_);
  if (!starting_.empty()) proposal_ = starting_;
}

Status EmbeddingOffloadScaleupProposer::check_caches(const SearchSpace& space) {
  for (const ShardingOption& option : space.options()) {
    const Table& table = space.problem().table(option.table);
    if (!cached(option) || (table.constraints && table.constraints->cache_params)) continue;
    return invalid_input(constraints_place(table.name) + "/cache_params",
                         "TorchRec's scale-up needs them for every table that may use "
                         "fused_uvm_caching; add them, if only {}, or leave out the proposer");
  }
  return {};
}

EmbeddingOffloadScaleupProposer::Options EmbeddingOffloadScaleupProposer::best_options(
    const OptionPool& pool, bool use_depth) const {
  Options chosen;
  for (const auto& table : sorted_by_perf(pool, use_depth)) {
    const auto uvm = std::find_if(table.options.begin(), table.options.end(),
                                  [&](OptionId id) { return cached(pool.option(id)); });
    chosen.push_back(pool.option(uvm == table.options.end() ? table.options.front() : *uvm));
  }
  return chosen;
}

ShardingOption EmbeddingOffloadScaleupProposer::rescaled(const ShardingOption& option,
                                                         std::optional<double> load_factor) const {
  return usable(with_load_factor(option, load_factor, cost_model()), option);
}

ShardingOption EmbeddingOffloadScaleupProposer::promoted(const ShardingOption& option) const {
  return usable(in_plain_hbm(option, cost_model()), option);
}

ShardingOption EmbeddingOffloadScaleupProposer::usable(Result<ShardingOption> estimated,
                                                       const ShardingOption& option) const {
  if (estimated.ok() && cost_model_ != nullptr && !check_costs(*estimated).ok()) return option;
  return estimated.ok() ? std::move(estimated).value() : option;
}

// Moves a table back to HBM if inputs for prefetching take more HBM than the cache saves.
void EmbeddingOffloadScaleupProposer::promote_where_cache_costs_more(Options& options) const {
  for (ShardingOption& option : options) {
    if (!cached(option)) continue;
    ShardingOption in_hbm = promoted(option);
    option = hbm_bytes(in_hbm) < hbm_bytes(option) ? std::move(in_hbm)
                                                   : rescaled(option, option.load_factor);
  }
}

double EmbeddingOffloadScaleupProposer::priority(const ShardingOption& option) const {
  const CacheStatistics* stats = statistics(*problem_, option);
  return stats == nullptr ? 0 : stats->cacheability * stats->expected_lookups;
}

bool EmbeddingOffloadScaleupProposer::scalable(const ShardingOption& option) const {
  return cached(option) && priority(option) * option.load_factor.value_or(0) > 0;
}

std::int64_t EmbeddingOffloadScaleupProposer::hbm_ceiling(const Options& options) const {
  std::int64_t total = 0;
  for (const ShardingOption& option : options) {
    total += hbm_bytes(scalable(option) ? promoted(option) : option);
  }
  return total;
}

void EmbeddingOffloadScaleupProposer::propose(std::size_t limit, OptionPool& pool,
                                              ProposalBatch& batch) {
  if (!proposal_ || limit == 0) return;
  std::vector<OptionId> ids;
  ids.reserve(proposal_->size());
  for (const ShardingOption& option : *proposal_)
    ids.push_back(pool.intern(option));
  batch.push_full(ids);
}

bool EmbeddingOffloadScaleupProposer::feedback(const ProposalFeedback& feedback) {
  const std::int64_t used = feedback.hbm_bytes;
  const bool feasible = feedback.outcome.feasible;
  if (!search_) {
    if (!feasible) {
      proposal_.reset();
      return true;
    }
    const std::int64_t budget =
        std::min(available_hbm_bytes_ - used, hbm_ceiling(*proposal_) - used);
    search_.emplace(0, static_cast<double>(budget), kMaxIterations, feedback.outcome.rating);
  }
  // Assumes that plans larger than a failed plan fail.
  if (!feasible) search_->shrink_right(static_cast<double>(used - total_hbm(starting_)));
  const bool rated = feasible && feedback.outcome.rating != 0;
  const auto budget = search_->next(rated ? feedback.outcome.rating : kNoRating);
  proposal_ = budget ? next_plan(std::trunc(*budget)) : std::nullopt;
  return true;
}

std::optional<EmbeddingOffloadScaleupProposer::Options> EmbeddingOffloadScaleupProposer::next_plan(
    double budget_bytes) const {
  Options plan = starting_;
  std::vector<std::size_t> positions;
  std::vector<CachedTable> tables;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!scalable(plan[i])) continue;
    positions.push_back(i);
    CachedTable table;
    table.model =
        fit_cache_storage(hbm_bytes(rescaled(plan[i], 0.1)), hbm_bytes(rescaled(plan[i], 0.9)));
    table.fused_hbm_bytes = hbm_bytes(promoted(plan[i]));
    table.load_factor = static_cast<float>(*plan[i].load_factor);
    table.priority = static_cast<float>(priority(plan[i]));
    tables.push_back(table);
  }
  if (positions.empty()) return std::nullopt;
  const std::vector<float> factors = allocate_cache_budget(tables, budget_bytes);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    ShardingOption& option = plan[positions[i]];
    option = factors[i] > kFullLoadFactor ? promoted(option)
                                          : rescaled(option, static_cast<double>(factors[i]));
  }
  return plan;
}

}  // namespace shardwright::embedding
