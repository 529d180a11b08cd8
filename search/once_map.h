// A map from keys to values that are computed once and then read without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/sync.h"

namespace shardwright {

// The address of a value stays the same while the map lives. `Hash` must return 64 well-mixed bits.
// Thread safety: every member may be called from any thread.
template <class Key, class Value, class Hash>
class OnceMap {
 public:
  // Returns null if the key has no value yet. O(1), without a lock.
  const Value* find(const Key& key) const {
    const std::uint64_t hash = Hash()(key);
    return shard(hash).find(hash, key);
  }

  // Stores the value unless the key already has a value. Returns the stored value of the key. If it
  // throws std::bad_alloc, the map is unchanged.
  const Value& keep(const Key& key, Value value) {
    const std::uint64_t hash = Hash()(key);
    return shard(hash).keep(hash, key, std::move(value));
  }

  std::size_t size() const {
    std::size_t sum = 0;
    for (const Shard& shard : shards_)
      sum += shard.size();
    return sum;
  }

 private:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kFirstSize = 64;

  struct Entry {
    Key key;
    Value value;
  };

  // A hash table with open addressing. A filled slot never changes, so readers need no lock.
  class Slots {
   public:
    explicit Slots(std::size_t size) : mask_(size - 1), slots_(size) {}

    const Entry* find(std::uint64_t hash, const Key& key) const {
      for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
        const Entry* entry = slots_[at].load(std::memory_order_acquire);
        if (entry == nullptr || entry->key == key) return entry;
      }
    }
    void insert(std::uint64_t hash, const Entry* entry) {
      std::size_t at = hash & mask_;
      while (slots_[at].load(std::memory_order_relaxed) != nullptr)
        at = (at + 1) & mask_;
      slots_[at].store(entry, std::memory_order_release);
    }
    std::size_t size() const { return slots_.size(); }

   private:
    std::size_t mask_;
    std::vector<std::atomic<const Entry*>> slots_;
  };

  // The values that share one lock.
  class Shard {
   public:
    Shard() {
      WriterLock lock(mutex_);
      grow(kFirstSize);
    }

    const Value* find(std::uint64_t hash, const Key& key) const {
      const Entry* entry = current_.load(std::memory_order_acquire)->find(hash, key);
      return entry == nullptr ? nullptr : &entry->value;
    }

    const Value& keep(std::uint64_t hash, const Key& key, Value value) {
      WriterLock lock(mutex_);
      if (const Value* raced = find(hash, key)) return *raced;
      if ((entries_.size() + 1) * 2 > tables_.back()->size()) grow(tables_.back()->size() * 2);
      entries_.push_back({key, std::move(value)});
      tables_.back()->insert(hash, &entries_.back());
      return entries_.back().value;
    }

    std::size_t size() const {
      ReaderLock lock(mutex_);
      return entries_.size();
    }

   private:
    void grow(std::size_t size) SHARDWRIGHT_REQUIRES(mutex_) {
      auto grown = std::make_unique<Slots>(size);
      for (const Entry& entry : entries_)
        grown->insert(Hash()(entry.key), &entry);
      tables_.push_back(std::move(grown));
      current_.store(tables_.back().get(), std::memory_order_release);
    }

    mutable SharedMutex mutex_;
    std::deque<Entry> entries_ SHARDWRIGHT_GUARDED_BY(mutex_);  // a deque never moves its elements
    // The last table is in use. Earlier tables stay, because readers may still use them.
    std::vector<std::unique_ptr<Slots>> tables_ SHARDWRIGHT_GUARDED_BY(mutex_);
    std::atomic<const Slots*> current_{nullptr};
  };

  const Shard& shard(std::uint64_t hash) const { return shards_[(hash >> 58) % kShards]; }
  Shard& shard(std::uint64_t hash) { return shards_[(hash >> 58) % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace shardwright
