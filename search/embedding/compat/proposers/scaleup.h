// Embedding-offload scale-up proposer: spends free HBM on larger caches.
#pragma once

#include <optional>
#include <vector>

#include "search/embedding/compat/cache_scaling/luus_jaakola.h"
#include "search/embedding/compat/estimate/estimate.h"
#include "search/embedding/compat/proposers/proposer.h"

namespace shardwright::embedding {

// Starts from one option per table (UVM caching where offered) and searches for the amount of HBM
// to add to the caches, shared out in proportion to each table's cacheability x lookups. Tables
// whose cache would hold everything are promoted to plain HBM. Every step needs the feedback of the
// last.
// Arithmetic on bytes and load factors is in single precision where the peer's tensors are.
// Source: EmbeddingOffloadScaleupProposer, torchrec/distributed/planner/proposers.py.
class EmbeddingOffloadScaleupProposer final : public Proposer {
 public:
  EmbeddingOffloadScaleupProposer(const ProposerSpec& spec, const OptionPool& pool,
                                  const Topology& available, const CostModel* cost_model = nullptr);

  std::size_t look_ahead() const override { return 1; }
  std::uint64_t proposals_at_most() const override { return 1 + kMaxIterations; }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;
  bool feedback(const ProposalFeedback& feedback) override;

 private:
  using Options = std::vector<ShardingOption>;
  static constexpr int kMaxIterations = 16;

  Options best_options(const OptionPool& pool, bool use_depth) const;
  void promote_where_cache_costs_more(Options& options) const;
  // The option with its cache at `load_factor`, or in plain HBM where that is nothing.
  ShardingOption rescaled(const ShardingOption& option, std::optional<double> load_factor) const;
  bool scalable(const ShardingOption& option) const;
  double priority(const ShardingOption& option) const;
  std::int64_t hbm_ceiling(const Options& options) const;
  std::optional<Options> next_plan(double budget_bytes) const;

  const Problem* problem_;
  Estimator estimator_;
  const CostModel* cost_model_;  // another one, or null
  std::int64_t available_hbm_bytes_;
  Options starting_;
  std::optional<Options> proposal_;
  std::optional<LuusJaakolaSearch> search_;
};

}  // namespace shardwright::embedding
