// What became of every set of options that was proposed: the memory that de-duplicates proposals.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// The outcome of partitioning and rating one proposal.
struct ProposalOutcome {
  bool feasible = false;
  double rating = 0;  // meaningless unless feasible; infinite where it is worse than the best known
};

// Open-addressing map from the fingerprint of a set of options to its outcome. Grows by doubling:
// no allocation per entry.
// Thread safety: concurrent find is safe while nobody inserts.
class ProposalCache {
 public:
  const ProposalOutcome* find(const OptionSetKey& key) const {
    if (slots_.empty()) return nullptr;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = key.low & mask; slots_[at].used; at = (at + 1) & mask) {
      if (slots_[at].key == key) return &slots_[at].outcome;
    }
    return nullptr;
  }

  // Precondition: the key is absent.
  void insert(const OptionSetKey& key, const ProposalOutcome& outcome) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    place(slots_, Slot{key, outcome, true});
    ++size_;
  }

  // Room for `more` entries.
  void reserve(std::size_t more) {
    while ((size_ + more) * 2 > slots_.size())
      grow();
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    OptionSetKey key;
    ProposalOutcome outcome;
    bool used = false;
  };

  static void place(std::vector<Slot>& slots, const Slot& slot) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = slot.key.low & mask;
    while (slots[at].used)
      at = (at + 1) & mask;
    slots[at] = slot;
  }
  void grow() {
    std::vector<Slot> grown(slots_.empty() ? 1024 : slots_.size() * 2);
    for (const Slot& slot : slots_) {
      if (slot.used) place(grown, slot);
    }
    slots_.swap(grown);
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace shardwright::embedding
