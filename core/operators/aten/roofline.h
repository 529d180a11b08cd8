// The time of an operator on a device: the larger of its memory traffic and its arithmetic.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "core/status.h"

namespace shardwright::operators {

// The measured time of an operator whose inputs have these local shapes.
struct OperatorTime {
  std::string op;                             // such as "aten.mm.default"
  std::vector<redistribution::Shape> inputs;  // tensor arguments only, in order
  AtenType type = AtenType::kFloat32;         // of the first input
  double microseconds = 0;
};

// An immutable table. Thread safety: const members may be called from any thread.
class OperatorTimes {
 public:
  // Errors (kInvalidInput at `/<row>`): an operator without name or inputs; a negative extent; a
  // time that is negative or not finite; a row with the operator, shapes and type of an earlier
  // row.
  static Result<OperatorTimes> make(std::span<const OperatorTime> rows);

  // Returns the measured time, or nullopt if the operator was not measured with these inputs.
  std::optional<double> microseconds(std::string_view op,
                                     std::span<const redistribution::Shape> inputs,
                                     AtenType type) const;

 private:
  using Key = std::vector<std::int64_t>;  // type, then rank and extents of every input

  static Key key_of(std::span<const redistribution::Shape> inputs, AtenType type);

  std::map<std::string, std::map<Key, double>, std::less<>> times_;  // by operator
};

// The placement of a tensor. Absent if there is no tensor or if its placement does not matter.
using MaybePlacement = std::optional<redistribution::Placement>;

// Thread safety: a value.
struct ComputeDevice {
  std::string name;  // as in AutoParallel's table
  double memory_bytes_per_second = 0;
  // 10^12 operations per second of matrix products, by AtenType; 0 if not known.
  std::array<double, kNumAtenTypes> tflops{};
  std::shared_ptr<const OperatorTimes> measured;  // takes precedence; may be null
};

// Returns the device whose name is a word of `name`, in any case: "NVIDIA H100 80GB HBM3".
// Source: DEVICE_LIMITS in AutoParallel's (meta-pytorch/autoparallel, a54c2529)
// autoparallel/cost_models/compute_estimation.py.
std::optional<ComputeDevice> find_compute_device(std::string_view name);
// Returns the names that find_compute_device() knows, joined by commas.
std::string compute_device_names();

// Microseconds. Thread safety: a value.
struct RooflineTimes {
  double traffic_us = 0;
  double arithmetic_us = 0;  // 0 without flops or a known rate
  std::optional<double> measured_us;

  double us() const { return measured_us.value_or(std::max(traffic_us, arithmetic_us)); }
};

// Returns the times of a node with these placements. A measured time takes precedence. Otherwise
// the time is the larger of two: the memory traffic (reading inputs and writing outputs, at least 7
// us) and the arithmetic (the flops), both at 70 % of the device's rates. Placeholders and views
// take no time. Flops of a type without a known rate do not count. A tensor without a placement
// counts whole. Preconditions: a node of the graph, placements of its tensors.
// Source: estimate_strategy_runtime_cost in the file named above, with the same order of
// operations.
RooflineTimes roofline_times(const AtenGraph& graph, const AtenNode& node,
                             const redistribution::MeshShape& mesh,
                             std::span<const MaybePlacement> outputs,
                             std::span<const MaybePlacement> inputs, const ComputeDevice& device);

// roofline_times().us().
double compute_us(const AtenGraph& graph, const AtenNode& node,
                  const redistribution::MeshShape& mesh, std::span<const MaybePlacement> outputs,
                  std::span<const MaybePlacement> inputs, const ComputeDevice& device);

}  // namespace shardwright::operators
