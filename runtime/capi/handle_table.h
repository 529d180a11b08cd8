// Handles of the C interface: numbers that are looked up and never used as pointers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace shardwright::capi {

enum class HandleKind : std::uint8_t {
  kProblem = 1,
  kSearchSpace,
  kCancel,
  kResult,
  kAnswer,
};

// The parts of a handle's number: a tag for the kind in the high byte, the slot, and the
// generation. The generation counts the slot's uses, so a destroyed handle stays invalid.
struct HandleBits {
  static constexpr std::uint32_t kTag = 0xB0;
  static constexpr std::uint32_t kMaxSlots = 1U << 24;

  std::uint32_t tag = 0;         // 8 bits
  std::uint32_t slot = 0;        // 24 bits
  std::uint32_t generation = 0;  // from 1

  std::uint64_t pack() const {
    return (std::uint64_t{tag} << 56) | (std::uint64_t{slot} << 32) | generation;
  }
  static HandleBits unpack(std::uint64_t handle) {
    return {static_cast<std::uint32_t>(handle >> 56),
            static_cast<std::uint32_t>(handle >> 32) & (kMaxSlots - 1),
            static_cast<std::uint32_t>(handle)};
  }
};

// The objects behind all handles of the process. A lookup shares ownership: if the object is
// removed meanwhile, it lives until the last call that uses it returns.
// Thread safety: every member may be called from any thread. No object is destroyed under the lock.
class HandleTable {
 public:
  // Why a handle refers to no object.
  enum class Fault : std::uint8_t { kNone, kNull, kForeign, kOtherKind, kDestroyed };

  // Adds an object and returns its handle. Throws std::bad_alloc if memory or numbers run out;
  // `object` is then released.
  std::uint64_t add(HandleKind kind, std::shared_ptr<const void> object);

  struct Found {
    Fault fault = Fault::kNone;
    std::shared_ptr<const void> object;
  };
  Found find(HandleKind kind, std::uint64_t handle) const;
  // Ends the handle and returns its object. Of concurrent calls, one returns the object and the
  // others return kDestroyed.
  Found remove(HandleKind kind, std::uint64_t handle);

 private:
  struct Slot {
    std::shared_ptr<const void> object;  // null = free
    std::uint32_t tag = 0;
    std::uint32_t generation = 1;
  };

  Fault check(HandleKind kind, std::uint64_t handle) const;

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

// Returns the process's table. It is never destroyed: destructors of static objects may use it.
HandleTable& handles();

}  // namespace shardwright::capi
