#include "search/redistribution/path/open_states.h"

#include <algorithm>
#include <tuple>

#include "core/interner.h"

namespace shardwright::redistribution {
namespace {

constexpr std::size_t kFirstSlots = 256;

}  // namespace

OpenStates::OpenStates() : slots_(kFirstSlots) {}

void OpenStates::keep(std::size_t slot, const PathState& state) {
  std::uint32_t index = slots_[slot].index;
  if (index == 0) {
    states_.push_back(state);
    index = static_cast<std::uint32_t>(states_.size());
    slots_[slot] = {state.at.code(), state.collectives, index};
    if (states_.size() * 2 > slots_.size()) grow();
  } else {
    states_[index - 1] = state;
  }
  heap_.push_back({state.cost + state.left, state.peak, state.num_steps, index - 1, state.cost});
  std::push_heap(heap_.begin(), heap_.end(), comes_later);
}

std::optional<std::uint32_t> OpenStates::next() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    const Entry entry = heap_.back();
    heap_.pop_back();
    const PathState& state = states_[entry.index];
    const bool is_current = state.cost == entry.cost && state.peak == entry.peak &&
                            state.num_steps == entry.num_steps;
    if (is_current) return entry.index;
  }
  return std::nullopt;
}

bool OpenStates::comes_later(const Entry& a, const Entry& b) {
  return std::tie(a.estimate, a.peak, a.num_steps, a.index) >
         std::tie(b.estimate, b.peak, b.num_steps, b.index);
}

std::size_t OpenStates::slot_of(const Placement& at, std::uint32_t collectives) const {
  const std::size_t mask = slots_.size() - 1;
  auto slot = static_cast<std::size_t>(hash_mix(at.code(), collectives)) & mask;
  while (slots_[slot].index != 0 &&
         (slots_[slot].code != at.code() || slots_[slot].collectives != collectives)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void OpenStates::grow() {
  slots_.assign(slots_.size() * 2, Slot());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const PathState& state = states_[i];
    slots_[slot_of(state.at, state.collectives)] = {state.at.code(), state.collectives,
                                                   static_cast<std::uint32_t>(i) + 1};
  }
}

}  // namespace shardwright::redistribution
