// Measured times of operators on the tensors of one device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operators/aten/graph/aten_tensor.h"
#include "core/status.h"

namespace shardwright::operators {

// What an operator took whose tensors had these local shapes.
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
  // time that is negative or not finite, a row that repeats another one's operator, shapes and type.
  static Result<OperatorTimes> make(std::span<const OperatorTime> rows);

  // None if it was not measured. Arguments that are no tensors do not count.
  std::optional<double> microseconds(std::string_view op,
                                     std::span<const redistribution::Shape> inputs,
                                     AtenType type) const;

 private:
  using Key = std::vector<std::int64_t>;  // type, then rank and extents of every input

  static Key key_of(std::span<const redistribution::Shape> inputs, AtenType type);

  std::map<std::string, std::map<Key, double>, std::less<>> times_;  // by operator
};

}  // namespace shardwright::operators
