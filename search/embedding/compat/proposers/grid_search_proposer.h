// TorchRec's GridSearchProposer: every combination of options if there are few.
#pragma once

#include <limits>
#include <vector>

#include "search/embedding/compat/proposers/proposer.h"

namespace shardwright::embedding {

// All combinations of the tables' options, best first; the last table varies fastest. Proposes
// nothing if there are more than max_proposals combinations.
// Source: GridSearchProposer, torchrec/distributed/planner/proposers.py (commit a48cef79).
class GridSearchProposer final : public Proposer {
 public:
  GridSearchProposer(const ProposerSpec& spec, const OptionPool& pool);

  std::size_t look_ahead() const override { return std::numeric_limits<std::size_t>::max(); }
  bool needs_feedback() const override { return false; }
  std::uint64_t proposals_at_most() const override { return tables_.empty() ? 0 : product_; }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;

 private:
  bool advance();

  std::vector<OptionPool::TableOptions> tables_;  // empty = skipped
  std::vector<std::uint32_t> index_;
  std::vector<ProposalChange> changes_;
  std::uint64_t product_ = 1;
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace shardwright::embedding
