#include "runtime/capi/handle_table.h"

#include <limits>
#include <new>
#include <utility>

namespace shardwright::capi {
namespace {

std::uint32_t tag_of(HandleKind kind) {
  return HandleBits::kTag | static_cast<std::uint32_t>(kind);
}

}  // namespace

std::uint64_t HandleTable::add(HandleKind kind, std::shared_ptr<const void> object) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (slots_.size() == HandleBits::kMaxSlots) throw std::bad_alloc();
    free_.reserve(slots_.size() + 1);  // so that remove() does not allocate
    slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.object = std::move(object);
  slot.tag = tag_of(kind);
  return HandleBits{slot.tag, index, slot.generation}.pack();
}

HandleTable::Fault HandleTable::check(HandleKind kind, std::uint64_t handle) const {
  if (handle == 0) return Fault::kNull;
  const HandleBits bits = HandleBits::unpack(handle);
  if ((bits.tag & 0xF0U) != HandleBits::kTag || bits.slot >= slots_.size()) return Fault::kForeign;
  const Slot& slot = slots_[bits.slot];
  // A slot has generation g while its g-th object lives.
  if (bits.generation == 0 || bits.generation > slot.generation) return Fault::kForeign;
  if (bits.tag != tag_of(kind)) return Fault::kOtherKind;
  if (bits.generation < slot.generation) return Fault::kDestroyed;
  return slot.object == nullptr || slot.tag != bits.tag ? Fault::kForeign : Fault::kNone;
}

HandleTable::Found HandleTable::find(HandleKind kind, std::uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  const Fault fault = check(kind, handle);
  if (fault != Fault::kNone) return {fault, nullptr};
  return {Fault::kNone, slots_[HandleBits::unpack(handle).slot].object};
}

HandleTable::Found HandleTable::remove(HandleKind kind, std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const Fault fault = check(kind, handle);
  if (fault != Fault::kNone) return {fault, nullptr};
  const std::uint32_t index = HandleBits::unpack(handle).slot;
  Slot& slot = slots_[index];
  // A slot that has used up its generations is not used again.
  if (++slot.generation != std::numeric_limits<std::uint32_t>::max()) free_.push_back(index);
  return {Fault::kNone, std::exchange(slot.object, nullptr)};
}

HandleTable& handles() {
  static HandleTable& table = *new HandleTable;
  return table;
}

}  // namespace shardwright::capi
