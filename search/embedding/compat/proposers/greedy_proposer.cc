#include "search/embedding/compat/proposers/greedy_proposer.h"

#include <algorithm>

namespace shardwright::embedding {

GreedyProposer::GreedyProposer(const ProposerSpec& spec, const OptionPool& pool)
    : tables_(sorted_by_perf(pool, spec.use_depth)), index_(tables_.size(), 0) {
  // A threshold of zero counts as none.
  if (spec.threshold.value_or(0) != 0) threshold_ = spec.threshold;
  for (const auto& table : tables_)
    proposals_at_most_ += table.options.size() - 1;
  heap_.reserve(tables_.size());
  for (std::uint32_t position = 0; position < tables_.size(); ++position)
    offer(pool, position);
}

void GreedyProposer::offer(const OptionPool& pool, std::uint32_t position) {
  const auto& options = tables_[position].options;
  if (index_[position] + 1 >= options.size()) return;
  const OptionRow& row = pool.row(options[index_[position]]);
  // An option without any of the storage that counts is never the largest.
  if (row.storage.hbm == Bytes() && row.storage.ddr == Bytes()) return;
  heap_.push_back({row.max_storage, row.storage, position});
  std::push_heap(heap_.begin(), heap_.end());
}

void GreedyProposer::propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) {
  if (finished_ || tables_.empty() || limit == 0) return;
  if (!started_) {
    started_ = true;
    push_first_options(tables_, batch);
  }
  while (batch.size() < limit) {
    if (heap_.empty()) {
      finished_ = true;
      return;
    }
    const std::uint32_t position = heap_.front().position;
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    const ProposalChange change{position, tables_[position].options[++index_[position]]};
    batch.push_changes({&change, 1});
    offer(pool, position);
  }
}

bool GreedyProposer::feedback(const ProposalFeedback& feedback) {
  // Failures and ratings of zero are ignored.
  if (!threshold_ || !feedback.outcome.feasible || feedback.outcome.rating == 0) return true;
  ++num_inferior_;
  if (feedback.outcome.rating < best_rating_) {
    best_rating_ = feedback.outcome.rating;
    num_inferior_ = 0;
  }
  finished_ = finished_ || num_inferior_ > *threshold_;
  return num_inferior_ <= *threshold_;
}

}  // namespace shardwright::embedding
