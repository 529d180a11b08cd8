// TorchRec's UniformProposer: one sharding type for all tables.
#pragma once

#include <limits>
#include <vector>

#include "search/embedding/compat/proposers/proposer.h"

namespace shardwright::embedding {

// One proposal per sharding type that every table offers, with the best option of each table. Types
// are in order of first appearance, tables in order of first appearance with that type.
// Source: UniformProposer, torchrec/distributed/planner/proposers.py (commit a48cef79).
class UniformProposer final : public Proposer {
 public:
  UniformProposer(const ProposerSpec& spec, const OptionPool& pool);

  std::size_t look_ahead() const override { return std::numeric_limits<std::size_t>::max(); }
  bool needs_feedback() const override { return false; }
  std::uint64_t proposals_at_most() const override { return proposals_.size(); }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;

 private:
  std::vector<std::vector<OptionId>> proposals_;
  std::size_t next_ = 0;
};

}  // namespace shardwright::embedding
