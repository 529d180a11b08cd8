// Interner: stores equal values once, so that comparing pointers compares values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/sync.h"

namespace shardwright {

namespace internal {

// An open-addressing index from hash to object address, independent of the object's type.
// Thread safety: one thread at a time; the mutex of the interner's shard guards it.
class InternIndex {
 public:
  // Returns the first object with this hash for which `equals(object)` is true, or nullptr.
  template <class Equals>
  const void* find(std::uint64_t hash, const Equals& equals) const {
    if (slots_.empty()) return nullptr;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = static_cast<std::size_t>(hash) & mask; slots_[at].object != nullptr;
         at = (at + 1) & mask) {
      if (slots_[at].hash == hash && equals(slots_[at].object)) return slots_[at].object;
    }
    return nullptr;
  }

  // Makes room for one more object. On bad_alloc nothing has changed.
  void reserve_one() {
    if ((size_ + 1) * 4 <= slots_.size() * 3) return;
    std::vector<Slot> grown(slots_.empty() ? 16 : slots_.size() * 2);
    for (const Slot& slot : slots_) {
      if (slot.object != nullptr) place(grown, slot);
    }
    slots_.swap(grown);
  }

  // Precondition: reserve_one() was called and no equal object is present.
  void insert(std::uint64_t hash, const void* object) noexcept {
    place(slots_, Slot{hash, object});
    ++size_;
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    const void* object = nullptr;
  };

  static void place(std::vector<Slot>& slots, const Slot& slot) noexcept {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = static_cast<std::size_t>(slot.hash) & mask;
    while (slots[at].object != nullptr)
      at = (at + 1) & mask;
    slots[at] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace internal

// Holds each distinct value of type T once. `Traits` has `static std::uint64_t hash(const T&)` with
// well-mixed bits and `static bool equal(const T&, const T&)`.
//
// An interner may be a layer over a base. If the base holds a value equal to the one to intern, the
// layer returns the base's object; otherwise the layer stores the value. Destroying a layer
// destroys only the values that the layer stored. A base must outlive its layers. A value that is
// added to the base after a layer stored an equal value exists twice.
//
// Thread safety: all members may be called concurrently from any thread.
template <class T, class Traits>
class Interner {
 public:
  Interner() = default;
  explicit Interner(const Interner* base) : base_(base) {}
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;

  // Returns the stored object equal to `value`. The object lives as long as the layer that stores
  // it. O(1) expected; allocates only if the value is new. On bad_alloc nothing has changed.
  const T* intern(T value) { return find_or_add(value, &value); }

  // Like intern(), for an object that the caller owns: registers the object itself instead of a
  // copy. Precondition: the object outlives this interner and does not change.
  const T* adopt(const T& object) { return find_or_add(object, nullptr); }

  // Returns the object equal to `value` in this layer or its bases, or nullptr. Does not allocate.
  const T* find(const T& value) const { return find_hashed(value, Traits::hash(value)); }

  // The number of values in this layer, without its bases.
  std::size_t size() const {
    std::size_t total = 0;
    for (const Shard& shard : shards_) {
      ReaderLock lock(shard.mutex);
      total += shard.index.size();
    }
    return total;
  }

 private:
  static constexpr std::size_t kShards = 16;

  struct Shard {
    mutable SharedMutex mutex;
    internal::InternIndex index SHARDWRIGHT_GUARDED_BY(mutex);
    // A deque never moves its elements. Even an empty deque allocates, so store() creates it.
    std::optional<std::deque<T>> objects SHARDWRIGHT_GUARDED_BY(mutex);

    const T* find(const T& value, std::uint64_t hash) const SHARDWRIGHT_REQUIRES_SHARED(mutex) {
      return static_cast<const T*>(index.find(hash, [&](const void* object) {
        return Traits::equal(*static_cast<const T*>(object), value);
      }));
    }
    const T* store(T&& value) SHARDWRIGHT_REQUIRES(mutex) {
      if (!objects) objects.emplace();
      return &objects->emplace_back(std::move(value));
    }
  };

  static std::size_t shard_of(std::uint64_t hash) {
    return static_cast<std::size_t>(hash >> 58) % kShards;
  }

  // Stores a new value by moving it out of `source`, which points to `value`. If `source` is null,
  // registers `value` where it is.
  const T* find_or_add(const T& value, T* source) {
    const std::uint64_t hash = Traits::hash(value);
    if (const T* found = find_hashed(value, hash)) return found;
    Shard& shard = shards_[shard_of(hash)];
    WriterLock lock(shard.mutex);
    if (const T* raced = shard.find(value, hash)) return raced;
    shard.index.reserve_one();
    const T* const stored = source != nullptr ? shard.store(std::move(*source)) : &value;
    shard.index.insert(hash, stored);
    return stored;
  }

  const T* find_hashed(const T& value, std::uint64_t hash) const {
    if (base_ != nullptr) {
      if (const T* found = base_->find_hashed(value, hash)) return found;
    }
    const Shard& shard = shards_[shard_of(hash)];
    ReaderLock lock(shard.mutex);
    return shard.find(value, hash);
  }

  const Interner* base_ = nullptr;
  std::array<Shard, kShards> shards_;
};

// Mixes one 64-bit word into a hash. Source: the finaliser constants of SplitMix64 (Steele, Lea,
// Flood, 2014).
constexpr std::uint64_t hash_mix(std::uint64_t seed, std::uint64_t word) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15ULL + word * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace shardwright
