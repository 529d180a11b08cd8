#include "search/embedding/compat/proposers/proposer.h"

#include <algorithm>

#include "search/embedding/compat/proposers/dynamic_programming_proposer.h"
#include "search/embedding/compat/proposers/embedding_offload_scaleup_proposer.h"
#include "search/embedding/compat/proposers/greedy_proposer.h"
#include "search/embedding/compat/proposers/grid_search_proposer.h"
#include "search/embedding/compat/proposers/uniform_proposer.h"

namespace shardwright::embedding {

std::vector<OptionPool::TableOptions> sorted_by_perf(const OptionPool& pool, bool use_depth) {
  const auto score = [&](OptionId id) {
    const OptionRow& row = pool.row(id);
    return use_depth ? row.max_shard_perf_ms : row.perf_ms;
  };
  std::vector<OptionPool::TableOptions> tables = pool.tables();
  for (OptionPool::TableOptions& table : tables) {
    std::stable_sort(table.options.begin(), table.options.end(),
                     [&](OptionId a, OptionId b) { return score(a) < score(b); });
  }
  return tables;
}

void push_first_options(const std::vector<OptionPool::TableOptions>& tables, ProposalBatch& batch) {
  std::vector<OptionId> first;
  first.reserve(tables.size());
  for (const OptionPool::TableOptions& table : tables)
    first.push_back(table.options.front());
  batch.push_full(first);
}

std::unique_ptr<Proposer> make_proposer(const ProposerSpec& spec, const OptionPool& pool,
                                        const Topology& available, const CostModel* cost_model) {
  switch (spec.type) {
    case ProposerSpec::Type::kGreedy:
      return std::make_unique<GreedyProposer>(spec, pool);
    case ProposerSpec::Type::kUniform:
      return std::make_unique<UniformProposer>(spec, pool);
    case ProposerSpec::Type::kGrid:
      return std::make_unique<GridSearchProposer>(spec, pool);
    case ProposerSpec::Type::kDynamicProgramming:
      return std::make_unique<DynamicProgrammingProposer>(spec, pool, available);
    case ProposerSpec::Type::kScaleup:
      return std::make_unique<EmbeddingOffloadScaleupProposer>(spec, pool, available, cost_model);
  }
  return nullptr;
}

}  // namespace shardwright::embedding
