#include "search/operators/reshard/reshard_planner.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/interner.h"
#include "core/sync.h"

namespace shardwright::operators {
namespace memo {

struct Entry {
  const ShardingSpec* from;
  const ShardingSpec* to;
  ReshardPath path;
};

// A hash table with open addressing. A filled slot never changes, so readers need no lock.
class Slots {
 public:
  explicit Slots(std::size_t size) : mask_(size - 1), slots_(size) {}

  const Entry* find(std::size_t hash, const ShardingSpec* from, const ShardingSpec* to) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Entry* entry = slots_[at].load(std::memory_order_acquire);
      if (entry == nullptr || (entry->from == from && entry->to == to)) return entry;
    }
  }
  void insert(std::size_t hash, const Entry* entry) {
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

std::uint64_t question_hash(const ShardingSpec* from, const ShardingSpec* to) {
  return hash_mix(reinterpret_cast<std::uintptr_t>(from), reinterpret_cast<std::uintptr_t>(to));
}

// The paths that share one lock.
// Thread safety: every member may be called from any thread.
class MemoShard {
 public:
  MemoShard() {
    WriterLock lock(mutex_);
    grow(kFirstSize);
  }

  const ReshardPath* find(std::size_t hash, const ShardingSpec* from,
                          const ShardingSpec* to) const {
    const Entry* entry = current_.load(std::memory_order_acquire)->find(hash, from, to);
    return entry == nullptr ? nullptr : &entry->path;
  }

  // The path that was stored first stays. On bad_alloc nothing has changed.
  const ReshardPath& keep(std::size_t hash, Entry answer) {
    WriterLock lock(mutex_);
    if (const ReshardPath* raced = find(hash, answer.from, answer.to)) return *raced;
    if ((entries_.size() + 1) * 2 > tables_.back()->size()) grow(tables_.back()->size() * 2);
    entries_.push_back(std::move(answer));
    tables_.back()->insert(hash, &entries_.back());
    return entries_.back().path;
  }

  std::size_t size() const {
    ReaderLock lock(mutex_);
    return entries_.size();
  }

 private:
  static constexpr std::size_t kFirstSize = 64;

  void grow(std::size_t size) SHARDWRIGHT_REQUIRES(mutex_) {
    auto grown = std::make_unique<Slots>(size);
    for (const Entry& entry : entries_)
      grown->insert(static_cast<std::size_t>(question_hash(entry.from, entry.to)), &entry);
    tables_.push_back(std::move(grown));
    current_.store(tables_.back().get(), std::memory_order_release);
  }

  mutable SharedMutex mutex_;
  std::deque<Entry> entries_ SHARDWRIGHT_GUARDED_BY(mutex_);  // a deque never moves its elements
  // The last one is in use. Readers may still use the others, which are smaller in total.
  std::vector<std::unique_ptr<Slots>> tables_ SHARDWRIGHT_GUARDED_BY(mutex_);
  std::atomic<const Slots*> current_{nullptr};
};

}  // namespace memo

// Thread safety: every member may be called from any thread.
class ReshardPlanner::Memo {
 public:
  static constexpr std::size_t kShards = 16;

  memo::MemoShard& shard(std::uint64_t hash) {
    return shards_[static_cast<std::size_t>(hash >> 58) % kShards];
  }
  std::size_t size() const {
    std::size_t sum = 0;
    for (const memo::MemoShard& shard : shards_)
      sum += shard.size();
    return sum;
  }

  const ReshardPath unchanged{};

 private:
  std::array<memo::MemoShard, kShards> shards_;
};

ReshardPlanner::ReshardPlanner(SpecTable& table, PathCost mode)
    : table_(&table), mode_(mode), memo_(std::make_unique<Memo>()) {}

ReshardPlanner::~ReshardPlanner() = default;

const ReshardPath& ReshardPlanner::path(const ShardingSpec* from, const ShardingSpec* to) {
  if (from == to) return memo_->unchanged;
  const std::uint64_t hash = memo::question_hash(from, to);
  memo::MemoShard& shard = memo_->shard(hash);
  const auto slot_hash = static_cast<std::size_t>(hash);
  if (const ReshardPath* known = shard.find(slot_hash, from, to)) return *known;
  SHARDWRIGHT_CHECK(from->shape == to->shape);
  return shard.keep(
      slot_hash, {from, to, find_reshard_path(*table_, *from->shape, from->dims, to->dims, mode_)});
}

std::size_t ReshardPlanner::num_searches() const { return memo_->size(); }

}  // namespace shardwright::operators
