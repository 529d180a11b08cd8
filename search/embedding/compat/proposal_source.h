// The first stage of the compat search: asks the proposers for batches of proposals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "search/budget.h"
#include "search/embedding/compat/proposal_lane.h"
#include "search/embedding/compat/proposals.h"
#include "search/embedding/compat/proposers.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// Runs the proposers one after the other, marks proposals whose options were proposed before, and
// cuts the batch in which the work limit is reached. Marks and cut are decided in proposal order
// when a batch is proposed, so they are the same for any number of workers, and batches can be
// proposed before earlier batches are evaluated. A proposer that needs feedback proposes only while
// no batch is in flight.
// Thread safety: none; the thread that proposes and takes in owns it.
class ProposalSource {
 public:
  // Pool and topology must outlive the source. `work`: the work that a proposal counts as.
  ProposalSource(OptionPool& pool, const Topology& available, const SearchParts& parts,
                 const ProposalWork& work);

  // Returns true if a proposer acts on ratings, so that every rating must be exact.
  bool uses_ratings() const;
  // Largest number of proposals of all proposers, including repeated proposals.
  std::uint64_t proposals_at_most() const;

  // Fills `batch`. Returns false if all proposers have finished, if batches in flight use up the
  // work limit, or if the proposer waits for feedback.
  bool propose(CandidateBatch& batch, const Budget& budget);
  // Moves on to the next proposer. Returns false if there is none. Precondition: no batch is in
  // flight.
  bool skip_to_next_proposer() {
    last_ = nullptr;
    proposer_ = std::min(proposer_ + 1, proposers_.size());
    return proposer_ < proposers_.size();
  }
  // Passes the outcome of a candidate of the oldest batch in flight to the batch's proposer.
  // Returns false if the proposer withdraws later proposals.
  bool feedback(const CandidateBatch& batch, std::size_t index, const ProposalOutcome& outcome);
  // Forgets the candidates of `batch` from index `taken_in` on, as if they had not been proposed.
  void withdraw(const CandidateBatch& batch, std::size_t taken_in);
  // Notes that `batch`, the oldest in flight, was taken in.
  void retire(const CandidateBatch& batch);

  // The outcomes of the distinct proposals.
  ProposalCache& cache() { return cache_; }

 private:
  bool fill(CandidateBatch& batch);
  std::size_t batch_limit(const Proposer& proposer) const;
  void check(const ProposalBatch& proposals) const;
  void admit(CandidateBatch& batch, const Budget& budget);

  OptionPool* pool_;
  ProposalWork work_;
  std::vector<std::unique_ptr<Proposer>> proposers_;
  bool are_custom_;
  std::size_t proposer_ = 0;
  ProposalBatch* last_ = nullptr;      // the previous batch of this proposer, if any
  std::uint64_t last_placements_ = 0;  // num_placements of the last proposal in last_
  std::uint64_t next_serial_ = 1;
  std::size_t on_their_way_ = 0;    // batches in flight
  std::uint64_t planned_work_ = 0;  // of the batches in flight
  ProposalCache cache_;
};

}  // namespace shardwright::embedding
