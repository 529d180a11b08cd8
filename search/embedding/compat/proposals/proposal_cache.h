// De-duplicates proposals: remembers every set of options that was proposed, with its outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// The outcome of partitioning and rating one proposal.
struct ProposalOutcome {
  bool feasible = false;
  double rating = 0;  // undefined unless feasible; infinite if it is worse than the best known
};

// The distinct proposals in the order in which they were first made, found by fingerprint through
// an open-addressing table. Grows by doubling, so there is no allocation per entry.
// Thread safety: none; the thread that proposes and takes in owns it.
class ProposalCache {
 public:
  using Index = std::uint32_t;

  struct Found {
    Index index;
    bool is_new;
  };
  // Finds the entry with this key, or appends one.
  Found insert(const OptionSetKey& key) {
    if ((entries_.size() + 1) * 2 > table_.size()) grow();
    const std::size_t at = slot_of(key);
    if (table_[at] != kFree) return {table_[at], false};
    table_[at] = static_cast<Index>(entries_.size());
    entries_.push_back({key, {}, false});
    return {table_[at], true};
  }

  // Reserves memory for this many entries in all.
  void reserve(std::size_t entries) {
    while (entries * 2 > table_.size())
      grow();
  }

  // The outcome of an entry; null before it was set.
  const ProposalOutcome* outcome(Index index) const {
    return entries_[index].known ? &entries_[index].outcome : nullptr;
  }
  void set_outcome(Index index, const ProposalOutcome& outcome) {
    entries_[index].outcome = outcome;
    entries_[index].known = true;
  }

  // Forgets the entries from `size` on, latest first. No older entry lies behind a later one in the
  // table, so nothing else moves.
  void truncate(std::size_t size) {
    while (entries_.size() > size) {
      table_[slot_of(entries_.back().key)] = kFree;
      entries_.pop_back();
    }
  }

  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr Index kFree = ~Index{0};
  static constexpr std::size_t kFirstTableSize = 1024;

  struct Entry {
    OptionSetKey key;
    ProposalOutcome outcome;
    bool known;
  };

  // The slot of the key, or where it would be inserted.
  std::size_t slot_of(const OptionSetKey& key) const {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = key.low & mask;
    while (table_[at] != kFree && !(entries_[table_[at]].key == key))
      at = (at + 1) & mask;
    return at;
  }
  // Inserts in order of the entries, which truncate() relies on.
  void grow() {
    table_.assign(table_.empty() ? kFirstTableSize : table_.size() * 2, kFree);
    entries_.reserve(table_.size() / 2);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      table_[slot_of(entries_[i].key)] = static_cast<Index>(i);
  }

  std::vector<Entry> entries_;
  std::vector<Index> table_;
};

}  // namespace shardwright::embedding
