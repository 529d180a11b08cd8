// How an operator may run along one axis of a mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/redistribution/placement/axis_placement.h"

namespace shardwright::operators {

// A placement along one axis; none where there is no tensor, or where it does not matter.
using MaybeAxisPlacement = std::optional<redistribution::AxisPlacement>;

// One way to run: what the devices along the axis hold of every output and input.
struct AxisEntry {
  std::vector<MaybeAxisPlacement> outputs;
  std::vector<MaybeAxisPlacement> inputs;
  // If not 0: the devices of all axes that use this entry together must divide this number, because
  // the operator splits or joins a dimension.
  std::int64_t divides = 0;

  friend bool operator==(const AxisEntry&, const AxisEntry&) = default;
};

// Where a rule comes from; for reports.
enum class RuleSource : std::uint8_t { kTorch, kView, kOwn, kFallback };

// Every axis of a mesh takes an entry of its own.
// Thread safety: a value.
struct AxisRule {
  std::vector<AxisEntry> entries;
  RuleSource source = RuleSource::kTorch;
};

}  // namespace shardwright::operators
