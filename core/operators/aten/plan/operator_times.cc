#include "core/operators/aten/plan/operator_times.h"

#include <algorithm>
#include <cmath>

namespace shardwright::operators {

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

}  // namespace shardwright::operators
