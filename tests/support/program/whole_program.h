// Executes a program on whole arrays, and computes the parts of the arrays that ranks hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/interner.h"
#include "core/program/program.h"
#include "core/program/simulate.h"

namespace shardwright::test_support {

inline constexpr std::int64_t kUnit = 5040;  // divisible by all numbers up to 10
inline constexpr int kRounds = 2;            // iterations of a loop

// The whole arrays that one run of an operator reads and writes.
struct Run {
  std::vector<program::Array> inputs;
  std::vector<program::Array> outputs;
};

inline std::int64_t value_of(std::uint64_t seed, std::size_t flat, program::DataType type) {
  const std::uint64_t noise = hash_mix(seed, flat) % 1000;
  return type == program::DataType::kBool ? static_cast<std::int64_t>(noise % 2)
                                          : (static_cast<std::int64_t>(noise) + 1) * kUnit;
}

inline program::Array make_array(const program::Shape& shape, std::uint64_t seed,
                                 program::DataType type) {
  program::Array array{shape, {}};
  for (std::size_t flat = 0; flat < static_cast<std::size_t>(program::num_elements(shape)); ++flat)
    array.values.push_back(value_of(seed, flat, type));
  return array;
}

// Executes the whole program in its constructor and keeps every run of every operator.
class Whole {
 public:
  explicit Whole(const program::Program& program) : program_(program) {
    for (std::size_t i = 0; i < program.var_capacity(); ++i) {
      const program::Variable& var = program.var(program::VarId(i));
      initial_.push_back(make_array(var.shape, hash_mix(1, i), var.type));
    }
    now_ = initial_;
    walk(program::BlockId(0));
  }

  const program::Array& initial(program::VarId id) const { return initial_[id.index()]; }
  const Run* run(program::OpId id, std::size_t time) const {
    const auto found = runs_.find(id.value());
    return found == runs_.end() || time >= found->second.size() ? nullptr : &found->second[time];
  }

 private:
  void walk(program::BlockId block) {
    for (program::OpId id = program_.block(block).first; id.valid(); id = program_.next(id)) {
      const program::Operation& op = program_.op(id);
      for (int round = 0; op.sub_block.valid() && round < kRounds; ++round)
        walk(op.sub_block);
      if (!op.sub_block.valid()) one(id, op);
    }
  }

  void one(program::OpId id, const program::Operation& op) {
    std::vector<Run>& runs = runs_[id.value()];
    std::uint64_t seed = hash_mix(id.value() + 100, runs.size());
    Run run;
    for (const program::Argument& input : op.inputs) {
      run.inputs.push_back(now_[input.var.index()]);
      for (const std::int64_t value : run.inputs.back().values)
        seed = hash_mix(seed, static_cast<std::uint64_t>(value));
    }
    for (const program::Argument& output : op.outputs) {
      const program::Variable& var = program_.var(output.var);
      run.outputs.push_back(make_array(var.shape, hash_mix(seed, run.outputs.size()), var.type));
      now_[output.var.index()] = run.outputs.back();
    }
    runs.push_back(std::move(run));
  }

  const program::Program& program_;
  std::vector<program::Array> initial_;
  std::vector<program::Array> now_;
  std::map<std::uint32_t, std::vector<Run>> runs_;
};

// Returns the part of a tensor that the rank at `position` holds. Along partial axes, reducing the
// parts of the ranks gives the tensor.
inline program::Array share(const program::Array& whole, const program::DistAttr& attr,
                            std::size_t position, program::DataType type) {
  program::Array part = program::slice(whole, program::part_at(whole.shape, attr, position));
  std::int64_t member = 0;
  std::int64_t members = 1;
  std::int64_t averaged = 1;
  bool maximum = false;
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] == program::Reduction::kNone) continue;
    member = member * attr.mesh.axis_size(axis) + attr.mesh.coordinate(position, axis);
    members *= attr.mesh.axis_size(axis);
    if (attr.partial[axis] == program::Reduction::kAvg) averaged *= attr.mesh.axis_size(axis);
    maximum = maximum || attr.partial[axis] == program::Reduction::kMax;
  }
  if (members == 1) return part;
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    std::int64_t& value = part.values[i];
    const bool holds = static_cast<std::int64_t>(i) % members == member;
    if (type == program::DataType::kBool) {
      value = holds || averaged > 1 ? value : 0;
    } else if (maximum) {
      value = holds ? value : value - kUnit * (1 + member);
    } else {
      // For each element, one rank is the holder. Every other rank has a noise value, and the
      // holder's value is less by the sum of them.
      std::int64_t noise = 0;
      for (std::int64_t other = 0; other < members; ++other) {
        if (other != static_cast<std::int64_t>(i) % members) noise += kUnit * (other + 1);
      }
      value = holds ? value * averaged - noise : kUnit * (member + 1);
    }
  }
  return part;
}

}  // namespace shardwright::test_support
