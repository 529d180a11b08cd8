// TorchRec's EmbeddingOffloadScaleupProposer and its LuusJaakolaSearch.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "search/embedding/compat/estimate.h"
#include "search/embedding/compat/proposers.h"

namespace shardwright::embedding {

// Minimises a function of one variable over [left, right], with at most `max_iterations` random
// probes around the best point, in a shrinking range. Random numbers equal those of
// torch.Generator().manual_seed(42) with torch.rand in single precision.
// Source: LuusJaakolaSearch, torchrec/distributed/planner/utils.py.
class LuusJaakolaSearch {
 public:
  LuusJaakolaSearch(double left, double right, int max_iterations, std::optional<double> left_cost);

  // Returns the next probe, or nothing at the end. `cost`: of the last probe; ignored in the first
  // call.
  std::optional<double> next(double cost);

  // Sets the cost of all points from `right` on to infinity.
  void shrink_right(double right);

 private:
  double clamp(double x) const { return x < left_ ? left_ : x > right_ ? right_ : x; }
  double uniform(double a, double b);

  double left_;
  double right_;
  int iteration_ = -1;
  int max_iterations_;
  std::mt19937 generator_{42};
  double best_ = 0;
  double best_cost_ = 0;
  double probe_ = std::numeric_limits<double>::quiet_NaN();
  bool left_known_;
  bool right_known_ = false;
  double range_;
};

// Starts from one option per table, with UVM caching if a table offers it. Searches for the number
// of HBM bytes to add to the caches, which are divided in proportion to cacheability x lookups. A
// table whose cache would hold the whole table moves to plain HBM. Every proposal needs the
// feedback of the previous proposal. Bytes and load factors are in single precision where
// TorchRec's tensors are.
// Source: EmbeddingOffloadScaleupProposer, torchrec/distributed/planner/proposers.py (commit
// a48cef79).
class EmbeddingOffloadScaleupProposer final : public Proposer {
 public:
  EmbeddingOffloadScaleupProposer(const ProposerSpec& spec, const OptionPool& pool,
                                  const Topology& available, const CostModel* cost_model = nullptr);

  // Errors: kInvalidInput with the place in the problem file, if a table with a cache has no
  // cache_params, which TorchRec's proposer asserts.
  static Status check_caches(const SearchSpace& space);

  std::size_t look_ahead() const override { return 1; }
  std::uint64_t proposals_at_most() const override { return 1 + kMaxIterations; }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;
  bool feedback(const ProposalFeedback& feedback) override;

 private:
  using Options = std::vector<ShardingOption>;
  static constexpr int kMaxIterations = 16;

  Options best_options(const OptionPool& pool, bool use_depth) const;
  void promote_where_cache_costs_more(Options& options) const;
  const CostModel& cost_model() const { return cost_model_ == nullptr ? estimator_ : *cost_model_; }
  // Return the option with its cache at `load_factor` (empty: the table names none), and the option
  // in plain HBM; the unchanged option if the new costs cannot be estimated.
  ShardingOption rescaled(const ShardingOption& option, std::optional<double> load_factor) const;
  ShardingOption promoted(const ShardingOption& option) const;
  ShardingOption usable(Result<ShardingOption> estimated, const ShardingOption& option) const;
  bool scalable(const ShardingOption& option) const;
  double priority(const ShardingOption& option) const;
  std::int64_t hbm_ceiling(const Options& options) const;
  std::optional<Options> next_plan(double budget_bytes) const;

  const Problem* problem_;
  Estimator estimator_;
  const CostModel* cost_model_;  // the caller's, or null
  std::int64_t available_hbm_bytes_;
  Options starting_;
  std::optional<Options> proposal_;
  std::optional<LuusJaakolaSearch> search_;
};

}  // namespace shardwright::embedding
