// A batch of proposals as it passes through the stages of the compat search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "search/embedding/compat/proposals/proposal_batch.h"
#include "search/embedding/compat/proposals/proposal_cache.h"

namespace shardwright::embedding {

// The best proposal of a range or of a batch, with the ranks of its shards.
// Thread safety: a value.
struct BestCandidate {
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t index = kNone;  // in the batch
  double rating = std::numeric_limits<double>::infinity();
  std::vector<OptionId> options;
  std::vector<Rank> ranks;  // by rank slot

  // Returns true if a proposal of that rating and index comes before this one. Ties go to the
  // earlier proposal.
  bool loses_to(double other_rating, std::size_t other_index) const {
    return other_rating < rating || (other_rating == rating && other_index < index);
  }
  // Does not free memory.
  void clear() {
    index = kNone;
    rating = std::numeric_limits<double>::infinity();
  }
};

// What the stages of the pipeline hand to each other. The proposing thread fills everything but the
// results; workers write the results of the candidates in their range and offer their best one; the
// proposing thread reads all of it after they have ended.
// Thread safety: const members and offer_best() from any thread during evaluation; distinct
// elements of `candidates` and `ranks_sha1` may be written concurrently.
class CandidateBatch {
 public:
  explicit CandidateBatch(const OptionPool& pool) : proposals(pool) {}

  struct Candidate {
    ProposalCache::Index entry = 0;
    bool is_new = false;  // otherwise an earlier proposal has the same options
    bool done = false;    // `outcome` holds
    ProposalOutcome outcome;
  };

  ProposalBatch proposals;
  std::vector<Candidate> candidates;    // of the proposals that the work limit allows
  std::vector<std::string> ranks_sha1;  // by candidate; empty without a trace
  std::uint64_t serial = 0;             // differs for every batch of a search
  std::uint32_t proposer = 0;
  std::size_t known_before = 0;    // size of the cache before this batch
  std::uint64_t planned_work = 0;  // shards of the new candidates
  double rating_to_beat = 0;       // the best rating taken in before this batch was proposed

  void clear_best() { best_.clear(); }
  // Swaps with the batch's best candidate if `found` is better. O(1).
  void offer_best(BestCandidate& found) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (best_.loses_to(found.rating, found.index)) std::swap(best_, found);
  }
  // Precondition: no evaluation is running.
  BestCandidate& best() { return best_; }

 private:
  std::mutex mutex_;
  BestCandidate best_;
};

}  // namespace shardwright::embedding
