// Executes operators that the resharder inserted, on small arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/program/program.h"
#include "core/program/simulate.h"

namespace shardwright::test_support {

inline std::int64_t number_attribute(const program::Operation& op, const char* name) {
  for (const auto& [key, value] : op.attributes) {
    if (key == name) return std::get<std::int64_t>(value);
  }
  return -1;
}
inline std::vector<std::int64_t> list_attribute(const program::Operation& op, const char* name) {
  for (const auto& [key, value] : op.attributes) {
    if (key == name) return std::get<std::vector<std::int64_t>>(value);
  }
  return {};
}
inline std::string text_attribute(const program::Operation& op, const char* name) {
  for (const auto& [key, value] : op.attributes) {
    if (key == name) return std::get<std::string>(value);
  }
  return {};
}

inline program::Array piece(const program::Array& array, std::size_t axis, std::int64_t count,
                            std::int64_t index) {
  program::Part part = program::whole(array.shape);
  part[axis] = program::cut(array.shape[axis], count, index);
  return program::slice(array, part);
}
inline program::Array transposed(const program::Array& array,
                                 const std::vector<std::int64_t>& order) {
  program::Array result;
  for (const std::int64_t dim : order)
    result.shape.push_back(array.shape[static_cast<std::size_t>(dim)]);
  result.values.resize(array.values.size());
  std::size_t next = 0;
  program::Shape at(array.shape.size(), 0);
  program::for_each_element(array.shape, program::whole(array.shape), [&](std::size_t flat) {
    std::size_t rest = flat;
    for (std::size_t dim = at.size(); dim-- > 0;) {
      at[dim] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(array.shape[dim]));
      rest /= static_cast<std::size_t>(array.shape[dim]);
    }
    std::int64_t to = 0;
    for (std::size_t dim = 0; dim < order.size(); ++dim)
      to = to * result.shape[dim] + at[static_cast<std::size_t>(order[dim])];
    result.values[static_cast<std::size_t>(to)] = array.values[next++];
  });
  return result;
}

// Computes an operator that does not communicate. Sets `problem` if the operator is invalid.
inline std::vector<program::Array> computed(const program::Operation& op,
                                            const std::vector<program::Array>& in,
                                            std::string& problem) {
  std::vector<program::Array> results;
  if (op.type == "assign" || op.type == "lod_reset") {
    results.push_back(in[0]);
  } else if (op.type == "cast") {
    results.push_back(in[0]);
    for (std::int64_t& value : results[0].values) {
      if (text_attribute(op, "out_dtype") == "bool") value = value != 0 ? 1 : 0;
    }
  } else if (op.type == "scale") {
    results.push_back(in[0]);
    for (std::int64_t& value : results[0].values) {
      if (value % number_attribute(op, "divisor") != 0) problem = "divides with a remainder";
      value /= number_attribute(op, "divisor");
    }
  } else if (op.type == "fill_constant") {
    program::Array zeros;
    for (const std::int64_t size : list_attribute(op, "shape"))
      zeros.shape.push_back(size);
    zeros.values.assign(static_cast<std::size_t>(program::num_elements(zeros.shape)), 0);
    results.push_back(std::move(zeros));
  } else if (op.type == "split") {
    const auto axis = static_cast<std::size_t>(number_attribute(op, "axis"));
    if (in[0].shape[axis] % number_attribute(op, "num") != 0) problem = "splits unevenly";
    for (std::int64_t i = 0; i < number_attribute(op, "num"); ++i)
      results.push_back(piece(in[0], axis, number_attribute(op, "num"), i));
  } else if (op.type == "concat") {
    results.push_back(program::concat(in, static_cast<std::size_t>(number_attribute(op, "axis"))));
  } else if (op.type == "slice") {
    const auto starts = list_attribute(op, "starts");
    const auto ends = list_attribute(op, "ends");
    program::Part part;
    for (std::size_t i = 0; i < starts.size(); ++i)
      part.push_back({starts[i], ends[i]});
    if (!program::lies_within(part, in[0].shape)) problem = "cuts beyond its tensor";
    results.push_back(program::slice(in[0], part));
  } else if (op.type == "transpose2") {
    results.push_back(transposed(in[0], list_attribute(op, "axis")));
  } else {
    problem = "does something unknown";
  }
  return results;
}

// Returns the result of a collective for member `member`. `in` has the inputs of all members.
inline program::Array collected(const program::Operation& op, const std::vector<program::Array>& in,
                                std::int64_t member) {
  const auto count = static_cast<std::int64_t>(in.size());
  if (op.type == "c_allgather") return program::concat(in, 0);
  if (op.type == "c_concat") return program::concat(in, in[0].shape.size() - 1);
  if (op.type == "alltoall") {
    std::vector<program::Array> pieces;
    for (const program::Array& array : in)
      pieces.push_back(piece(array, 0, count, member));
    return program::concat(pieces, 0);
  }
  const bool maximum = op.type == "c_allreduce_max" || text_attribute(op, "reduce_type") == "max";
  program::Array result = in.front();
  for (std::size_t k = 1; k < in.size(); ++k) {
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      std::int64_t& value = result.values[i];
      value = maximum ? std::max(value, in[k].values[i]) : value + in[k].values[i];
    }
  }
  return op.type == "c_reducescatter" ? piece(result, 0, count, member) : result;
}

}  // namespace shardwright::test_support
