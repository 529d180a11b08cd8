// TorchRec's DynamicProgrammingProposer: the least total time for every amount of total HBM.
#pragma once

#include <limits>
#include <vector>

#include "search/embedding/compat/proposers/proposer.h"

namespace shardwright::embedding {

// Total HBM is divided into hbm_bins_per_device bins per rank. The first proposal is the one of
// least HBM. Then comes, for every bin from the fullest to the emptiest, the combination of least
// total time that ends in this bin.
// Cost: O(tables x options x bins) time, O(tables x bins) memory, once.
// Source: DynamicProgrammingProposer, torchrec/distributed/planner/proposers.py (commit a48cef79).
class DynamicProgrammingProposer final : public Proposer {
 public:
  DynamicProgrammingProposer(const ProposerSpec& spec, const OptionPool& pool,
                             const Topology& available);

  std::size_t look_ahead() const override { return std::numeric_limits<std::size_t>::max(); }
  bool needs_feedback() const override { return false; }
  std::uint64_t proposals_at_most() const override { return 1 + bin_count_; }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;

 private:
  void solve(const OptionPool& pool);

  std::vector<OptionPool::TableOptions> tables_;  // sorted by total HBM, and their options too
  std::int64_t hbm_bytes_ = 0;                    // available over all ranks
  std::size_t bin_count_ = 0;
  std::vector<std::vector<OptionId>> proposals_;
  std::size_t next_ = 0;
  bool started_ = false;
  bool solved_ = false;
};

}  // namespace shardwright::embedding
