#include "core/operators/aten/roofline.h"

#include <cmath>

#include "core/redistribution/cost/tensor_redistribution.h"

namespace shardwright::operators {
namespace {

using redistribution::MeshShape;
using redistribution::Shape;

constexpr double kEfficiency = 0.70;
constexpr double kUsPerSecond = 1e6;
constexpr double kTera = 1e12;

// Rates in 10^12 operations per second; 0 if not known.
struct DeviceRates {
  std::string_view name;
  double float64, float32, float16, bfloat16, int8;
};

constexpr std::array<DeviceRates, 14> kRates{{
    {"H100", 67, 494, 989, 989, 1979},
    {"B200", 37, 1100, 2250, 2250, 4500},
    {"A100", 19.5, 156, 312, 312, 624},
    {"A30", 10.3, 82, 165, 165, 330},
    {"A10G", 0, 31.2, 125, 125, 250},
    {"T4", 0, 8.1, 65, 0, 130},
    {"V100", 7.8, 15.7, 125, 0, 0},
    {"P100", 5.3, 10.6, 21.2, 0, 0},
    {"AMD Instinct MI200X", 45.3, 45.3, 181.0, 181.0, 181.0},
    {"AMD Instinct MI300X", 163.4, 653.7, 1307.4, 1307.4, 2614.9},
    {"AMD Instinct MI325X", 163.4, 653.7, 1307.4, 1307.4, 2614.9},
    {"AMD Instinct MI350X", 72.1, 144.2, 2309.6, 2309.6, 4614.0},
    {"AMD Instinct MI355X", 78.6, 157.3, 2516.6, 2516.6, 5033.2},
    {"Max 1550", 46, 46, 367, 367, 734},
}};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

double& rate(ComputeDevice& device, AtenType type) {
  return device.tflops[static_cast<std::size_t>(type)];
}

ComputeDevice device_of(const DeviceRates& rates) {
  ComputeDevice device;
  device.name = rates.name;
  device.memory_bytes_per_second = redistribution::memory_bytes_per_second(rates.name).value_or(0);
  rate(device, AtenType::kFloat64) = rates.float64;
  rate(device, AtenType::kFloat32) = rates.float32;
  rate(device, AtenType::kFloat16) = rates.float16;
  rate(device, AtenType::kBfloat16) = rates.bfloat16;
  rate(device, AtenType::kInt8) = rates.int8;
  return device;
}

Shape held(const AtenTensor& tensor, const MeshShape& mesh, const MaybePlacement& placement) {
  return placement ? local_shape(tensor, mesh, *placement) : tensor.shape;
}

// The local shapes of a node's outputs and inputs.
struct LocalShapes {
  std::vector<Shape> outputs;
  std::vector<Shape> inputs;
};

std::int64_t flops_of(const AtenNode& node, const LocalShapes& local) {
  std::int64_t sum = 0;
  for (const FlopTerm& term : node.flops) {
    std::int64_t product = term.factor;
    for (const FlopTerm::Extent& extent : term.extents)
      product *= (extent.of_output ? local.outputs : local.inputs)[extent.tensor][extent.dim];
    sum += product;
  }
  return sum;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns true if `name` is a word of `text`. "H100" is a word of "NVIDIA H100 80GB" and "A100" of
// "A100X", but "H100" is not one of "H1000", nor "A100" of "RTXA100".
bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const bool begins =
        at == 0 || !(is_digit(text[at - 1]) || (text[at - 1] >= 'A' && text[at - 1] <= 'Z'));
    const std::size_t end = at + name.size();
    if (begins && (end == text.size() || !is_digit(text[end]))) return true;
  }
  return false;
}

}  // namespace

using redistribution::Shape;

OperatorTimes::Key OperatorTimes::key_of(std::span<const Shape> inputs, AtenType type) {
  Key key{static_cast<std::int64_t>(type)};
  for (const Shape& shape : inputs) {
    key.push_back(static_cast<std::int64_t>(shape.size()));
    key.insert(key.end(), shape.begin(), shape.end());
  }
  return key;
}

Result<OperatorTimes> OperatorTimes::make(std::span<const OperatorTime> rows) {
  OperatorTimes result;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const OperatorTime& row = rows[r];
    const std::string where = "/" + std::to_string(r);
    if (row.op.empty()) return invalid_input(where, "the operator has no name");
    if (row.inputs.empty()) return invalid_input(where, "an operator needs inputs to be found by");
    for (const Shape& shape : row.inputs) {
      if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; }))
        return invalid_input(where, "an extent must not be negative");
    }
    if (!std::isfinite(row.microseconds) || row.microseconds < 0)
      return invalid_input(where, "a time must be finite and not negative");
    if (!result.times_[row.op].emplace(key_of(row.inputs, row.type), row.microseconds).second)
      return invalid_input(where, quoted(row.op) + " has a row with these shapes before");
  }
  return result;
}

std::optional<double> OperatorTimes::microseconds(std::string_view op,
                                                  std::span<const Shape> inputs,
                                                  AtenType type) const {
  const auto found = times_.find(op);
  if (found == times_.end()) return std::nullopt;
  const auto time = found->second.find(key_of(inputs, type));
  return time == found->second.end() ? std::nullopt : std::optional(time->second);
}

std::optional<ComputeDevice> find_compute_device(std::string_view name) {
  const std::string wanted = upper(name);
  for (const DeviceRates& rates : kRates) {
    if (names(wanted, upper(rates.name))) return device_of(rates);
  }
  return std::nullopt;
}

std::string compute_device_names() {
  std::string names;
  for (const DeviceRates& rates : kRates)
    names += (names.empty() ? "" : ", ") + std::string(rates.name);
  return names;
}

RooflineTimes roofline_times(const AtenGraph& graph, const AtenNode& node, const MeshShape& mesh,
                             std::span<const MaybePlacement> outputs,
                             std::span<const MaybePlacement> inputs, const ComputeDevice& device) {
  if (node.is_placeholder() || node.view) return {};
  LocalShapes local;
  const AtenType type =
      node.inputs.empty() ? AtenType::kFloat32 : graph.tensor(node.inputs[0]).type;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const AtenTensor& tensor = graph.tensor(node.inputs[i]);
    local.inputs.push_back(held(tensor, mesh, inputs[i]));
    bytes += redistribution::num_elements(local.inputs.back()) * bytes_of(tensor.type);
  }
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    local.outputs.emplace_back();
    if (!node.outputs[o]) continue;
    local.outputs.back() = held(*node.outputs[o], mesh, outputs[o]);
    bytes += redistribution::num_elements(local.outputs.back()) * bytes_of(node.outputs[o]->type);
  }
  RooflineTimes times;
  if (device.measured)
    times.measured_us = device.measured->microseconds(node.op, local.inputs, type);
  times.traffic_us =
      redistribution::read_write_us(static_cast<double>(bytes), device.memory_bytes_per_second);
  const std::int64_t flops = flops_of(node, local);
  if (flops == 0) return times;
  const double tflops = device.tflops[static_cast<std::size_t>(type)];
  if (tflops == 0) return times;
  times.arithmetic_us = static_cast<double>(flops) / (tflops * kTera) * kUsPerSecond / kEfficiency;
  return times;
}

double compute_us(const AtenGraph& graph, const AtenNode& node, const MeshShape& mesh,
                  std::span<const MaybePlacement> outputs, std::span<const MaybePlacement> inputs,
                  const ComputeDevice& device) {
  return roofline_times(graph, node, mesh, outputs, inputs, device).us();
}

}  // namespace shardwright::operators
