// TorchRec's EmbeddingOffloadScaleupProposer: spends free HBM on larger caches.
#pragma once

#include <optional>
#include <vector>

#include "search/embedding/compat/cache_scaling/luus_jaakola_search.h"
#include "search/embedding/compat/estimate/estimate.h"
#include "search/embedding/compat/proposers/proposer.h"

namespace shardwright::embedding {

// Starts from one option per table, UVM caching if it is offered. Searches for the number of HBM
// bytes to add to the caches; tables get them in proportion to cacheability x lookups. A table
// whose cache would hold all of it is promoted to plain HBM. Every step needs the feedback of the
// last. Arithmetic on bytes and load factors is in single precision wherever TorchRec's tensors
// are.
// Source: EmbeddingOffloadScaleupProposer, torchrec/distributed/planner/proposers.py (commit
// a48cef79).
class EmbeddingOffloadScaleupProposer final : public Proposer {
 public:
  EmbeddingOffloadScaleupProposer(const ProposerSpec& spec, const OptionPool& pool,
                                  const Topology& available, const CostModel* cost_model = nullptr);

  // TorchRec's proposer asserts that a table with a cache has cache_params, whatever they say.
  // Errors: kInvalidInput with their place in the problem file.
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
  // The option with its cache at `load_factor`, or without one if the table names none; in plain
  // HBM. Where that cannot be estimated, the option as it is.
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
