// Runs a reshard plan on small dense arrays of integers and checks the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/program/dist_attr.h"
#include "core/program/rank_placement.h"
#include "core/program/reshard_plan.h"

namespace shardwright::program {

// A dense array in row-major order.
// Thread safety: a value.
struct Array {
  Shape shape;
  std::vector<std::int64_t> values;
};

// Returns the box `part` of the array. Precondition: the box lies within the array.
Array slice(const Array& array, const Part& part);
// Writes `piece` into the box `place` of the array. O(elements of the piece). Precondition: the box
// lies within the array and has the shape of the piece.
void paste(const Array& piece, const Part& place, Array& array);
// Concatenates the arrays along `dim`. O(elements of the result). Preconditions: there is at least
// one array; shapes differ in `dim` at most.
Array concat(const std::vector<Array>& arrays, std::size_t dim);
bool lies_within(const Part& part, const Shape& shape);
// Calls visit(flat index in an array of `shape`) for the elements of `part`, in row-major order.
template <class Visit>
void for_each_element(const Shape& shape, const Part& part, const Visit& visit) {
  if (num_elements(part) == 0) return;
  const std::size_t rows = shape.empty() ? 0 : shape.size() - 1;  // all dimensions but the last
  const std::int64_t length = shape.empty() ? 1 : part[rows].size();
  Shape at;
  for (const Interval& interval : part)
    at.push_back(interval.begin);
  for (;;) {
    std::int64_t flat = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      flat = flat * shape[dim] + at[dim];
    for (std::int64_t i = 0; i < length; ++i)
      visit(static_cast<std::size_t>(flat + i));
    std::size_t dim = rows;
    while (dim > 0 && ++at[dim - 1] == part[dim - 1].end) {
      at[dim - 1] = part[dim - 1].begin;
      --dim;
    }
    if (dim == 0) return;
  }
}

// The result of a simulation. `problem` is empty if and only if every target rank ends with its
// part and no rank waits forever. Otherwise it is a sentence about the first failure.
// Thread safety: a value.
struct Simulation {
  std::string problem;
  bool hangs = false;  // a rank waits for a partner that never arrives
  bool sends_to_itself = false;
  bool groups_disagree = false;  // a member of a collective is absent or has another group

  bool ok() const { return problem.empty(); }
};

// Places a tensor of known values according to `source`, runs the plan with blocking sends, and
// compares the tensor of every target rank with the expected part. Independent of the planners.
// O(ranks * elements * steps) time. Precondition: the placements fit the shape.
Simulation simulate(const Shape& shape, const RankPlacement& source, const RankPlacement& target,
                    const ReshardPlan& plan);
// The same for Paddle's placements. Precondition: check() accepts both for the shape.
Simulation simulate(const Shape& shape, const DistAttr& source, const DistAttr& target,
                    const ReshardPlan& plan);

// Reduces two terms of an element to one. For averages, adds them.
std::int64_t combine(std::int64_t a, std::int64_t b, redistribution::ReduceOp op);

// The tensors of all members of a collective, in the order of the group. Each concatenation or
// reduction is computed once for all members, so a collective costs O(members * elements) in total.
// Invariant: there is at least one tensor. All shapes are equal, except that gathered or exchanged
// tensors may differ in the joined dimension.
// Thread safety: one thread at a time.
class Collective {
 public:
  explicit Collective(std::vector<Array> tensors) : tensors_(std::move(tensors)) {}

  const std::vector<Array>& tensors() const { return tensors_; }
  const Shape& shape() const { return tensors_.front().shape; }
  // Returns all tensors concatenated along the dimension.
  const Array& joined(std::size_t dim);
  const Array& reduced(redistribution::ReduceOp op);

 private:
  std::vector<Array> tensors_;
  std::map<std::size_t, Array> joined_;
  std::map<redistribution::ReduceOp, Array> reduced_;
};

// The values of a test tensor, different for every element. Ranks of a partial placement hold
// pseudo-random terms that reduce to the value. All values are multiples of average_divisor(), so
// averages are exact.
// Thread safety: immutable; refers to its arguments.
class TensorValues {
 public:
  TensorValues(const Shape& shape, const RankPlacement& source);

  // Returns the value of the element with this flat (row-major) index in the whole tensor.
  std::int64_t value(std::size_t flat) const {
    return (static_cast<std::int64_t>(flat) + 1) * scale_;
  }
  // Returns the array that the rank at `position` of the source mesh holds.
  Array share(std::size_t position) const;

 private:
  std::int64_t noise(std::size_t flat, std::int64_t member) const;
  std::int64_t term(std::size_t flat, std::int64_t member) const;

  const Shape& shape_;
  const RankPlacement& source_;
  std::int64_t scale_;
  std::int64_t count_;  // number of terms of an element
  redistribution::ReduceOp op_;
};

// Returns the number of ranks that hold terms of one element: 1 unless the placement is partial.
std::int64_t num_terms(const RankPlacement& placed);
// Returns the number by which the sum of the terms must be divided.
std::int64_t average_divisor(const RankPlacement& placed);
// Returns how the terms reduce to the value: a sum for a single term, or if some are averaged.
redistribution::ReduceOp reduction_of(const RankPlacement& placed);

// One rank: its next step, the tensor on which it works, and the pieces for the next concat.
struct SimulatedRank {
  Rank rank = -1;
  const std::vector<Step>* steps = nullptr;
  std::size_t next = 0;
  std::optional<Array> tensor;
  std::vector<Array> pieces;

  // Returns the next step, or null at the end.
  const Step* step() const {
    return steps != nullptr && next < steps->size() ? &(*steps)[next] : nullptr;
  }
};

// Runs the steps of all ranks. Private members that return a bool record the problem and return
// false if the plan fails. Those that return an optional return nullopt if the rank has to wait.
// Thread safety: one thread at a time.
class Execution {
 public:
  // Returns the rank's state. Adds the rank if it is new.
  SimulatedRank& rank(Rank id);
  // Returns null for a rank that was never added.
  SimulatedRank* find(Rank id);

  // Runs until no rank can continue. Returns true if all ranks have run all steps.
  bool run();
  // Records the problem if it is the first one. Returns false.
  bool fail(const SimulatedRank& rank, const std::string& what);
  const Simulation& result() const { return simulation_; }

 private:
  std::optional<bool> advance(SimulatedRank& rank_state);
  bool run_local(SimulatedRank& rank_state, const Step& step);
  bool cut(SimulatedRank& rank_state, const Step& step);
  bool join_pieces(SimulatedRank& rank_state, const Step& step);
  std::optional<bool> send(SimulatedRank& rank_state, const Step& step);
  std::optional<bool> meet(SimulatedRank& rank_state, const Step& step);
  bool run_collective(const std::vector<SimulatedRank*>& members);
  bool scatter(SimulatedRank& rank_state, const Step& step, Collective& shared, std::size_t index);

  std::vector<SimulatedRank> ranks_;
  std::unordered_map<Rank, std::size_t> index_;
  Simulation simulation_;
};

}  // namespace shardwright::program
