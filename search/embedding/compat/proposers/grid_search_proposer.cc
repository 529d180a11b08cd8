#include "search/embedding/compat/proposers/grid_search_proposer.h"

namespace shardwright::embedding {

GridSearchProposer::GridSearchProposer(const ProposerSpec& spec, const OptionPool& pool) {
  for (const auto& table : pool.tables()) {
    product_ *= table.options.size();
    if (product_ > static_cast<std::uint64_t>(spec.max_proposals)) return;
  }
  tables_ = sorted_by_perf(pool, true);
  index_.assign(tables_.size(), 0);
}

// Steps the odometer. Returns false after the last combination.
bool GridSearchProposer::advance() {
  changes_.clear();
  for (std::size_t position = tables_.size(); position-- > 0;) {
    index_[position] =
        index_[position] + 1 < tables_[position].options.size() ? index_[position] + 1 : 0;
    changes_.push_back(
        {static_cast<std::uint32_t>(position), tables_[position].options[index_[position]]});
    if (index_[position] != 0) return true;
  }
  return false;
}

void GridSearchProposer::propose(std::size_t limit, OptionPool&, ProposalBatch& batch) {
  if (finished_ || tables_.empty() || limit == 0) return;
  if (!started_) {
    started_ = true;
    push_first_options(tables_, batch);
  }
  while (batch.size() < limit) {
    if (!advance()) {
      finished_ = true;
      return;
    }
    batch.push_changes(changes_);
  }
}

}  // namespace shardwright::embedding
