// TorchRec's DynamicProgrammingProposer: the least total time for every amount of total HBM.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "search/embedding/compat/proposers/proposer.h"

namespace shardwright::embedding {

// Total HBM is divided into hbm_bins_per_device bins per rank. The first proposal is the one of
// least HBM. Then comes, for every bin from the fullest to the emptiest, the combination of least
// total time that ends in this bin. If a reservation has taken more HBM than there is, bins are of
// negative size, and places count from the end of a list. Where a total lies before the first
// place, TorchRec raises an IndexError; here only the first proposal is made.
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
  // How a combination came into its bin.
  struct Back {
    std::int32_t option = -1;  // of the last table
    std::int32_t bin = -1;     // of the tables before
  };

  void solve(const OptionPool& pool);
  template <class Bins>
  void solve_with(const Bins& bins, double bin_size, const OptionPool& pool);
  void propose_by_bin(const std::vector<Back>& back);  // by table and bin

  std::vector<OptionPool::TableOptions> tables_;  // sorted by total HBM, and their options too
  std::int64_t hbm_bytes_ = 0;                    // available over all ranks
  std::size_t bin_count_ = 0;
  std::vector<std::vector<OptionId>> proposals_;
  std::size_t next_ = 0;
  bool started_ = false;
  bool solved_ = false;
};

}  // namespace shardwright::embedding
