// The time of an operator on a device: that of its memory traffic or of its arithmetic.
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
  std::vector<redistribution::Shape> inputs;  // tensors only, in order of the arguments
  AtenType type = AtenType::kFloat32;         // of the first input
  double microseconds = 0;
};

// An immutable table. Thread safety: const members may be called from any thread.
class OperatorTimes {
 public:
  // Errors (kInvalidInput at `/<row>`): an operator without name or inputs, a negative extent, a
  // time that is negative or not finite, a row that repeats another one's operator, shapes and
  // type.
  static Result<OperatorTimes> make(std::span<const OperatorTime> rows);

  // Returns none if the operator was not measured with these inputs, of which only tensors count.
  std::optional<double> microseconds(std::string_view op,
                                     std::span<const redistribution::Shape> inputs,
                                     AtenType type) const;

 private:
  using Key = std::vector<std::int64_t>;  // type, then rank and extents of every input

  static Key key_of(std::span<const redistribution::Shape> inputs, AtenType type);

  std::map<std::string, std::map<Key, double>, std::less<>> times_;  // by operator
};

// The placement of a tensor on a mesh; none if there is no tensor, or if it does not matter.
using MaybePlacement = std::optional<redistribution::Placement>;

// Thread safety: a value.
struct ComputeDevice {
  std::string name;  // as AutoParallel's table has it
  double memory_bytes_per_second = 0;
  // 10^12 operations per second of matrix products, by AtenType; 0: not known.
  std::array<double, kNumAtenTypes> tflops{};
  std::shared_ptr<const OperatorTimes> measured;  // takes precedence; may be null
};

// The device whose name is a word of `name`, in any case: "h100" or "NVIDIA H100 80GB HBM3".
// Source: DEVICE_LIMITS in AutoParallel's (meta-pytorch/autoparallel, a54c2529)
// autoparallel/cost_models/compute_estimation.py.
std::optional<ComputeDevice> find_compute_device(std::string_view name);
// The names that find_compute_device() knows, joined by commas.
std::string compute_device_names();

// Microseconds. Thread safety: a value.
struct RooflineTimes {
  double traffic_us = 0;
  double arithmetic_us = 0;  // 0 if there are no flops, or their rate is not known
  std::optional<double> measured_us;

  double us() const { return measured_us.value_or(std::max(traffic_us, arithmetic_us)); }
};

// Returns the times of a node with these placements. A measured time takes precedence. Otherwise,
// the time is the larger of the traffic (reading inputs and writing outputs, at least 7 us) and of
// the arithmetic (the flops), both at 70 % of the device's rates. Placeholders and views cost
// nothing. Flops of a type whose rate is not known count as none. A tensor without a placement
// counts whole. Preconditions: a node of the graph, placements of its tensors.
// Source: estimate_strategy_runtime_cost, in the file of DEVICE_LIMITS; the same order of
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
