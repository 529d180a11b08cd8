#include "core/program/simulator/simulate.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/program/simulator/execution.h"
#include "core/program/simulator/tensor_values.h"

namespace shardwright::program {
namespace {

// The positions of the ranks that hold terms of the same elements as the rank at `first`. Empty
// unless `first` is the lowest of them.
std::vector<std::size_t> term_holders(const RankPlacement& placed, std::size_t first) {
  std::vector<std::size_t> holders{first};
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis) {
    if (!placed.placement.is_partial(axis)) continue;
    if (placed.mesh.coordinate(first, axis) != 0) return {};
    const std::size_t known = holders.size();
    const auto stride = static_cast<std::size_t>(placed.mesh.stride(axis));
    const auto size = static_cast<std::size_t>(placed.mesh.axis_size(axis));
    for (std::size_t step = 1; step < size; ++step) {
      for (std::size_t i = 0; i < known; ++i)
        holders.push_back(holders[i] + step * stride);
    }
  }
  return holders;
}

// Reduces the terms of every element of a part and compares them with its value. Returns false if
// the plan left something else.
bool check_part(const Shape& shape, const RankPlacement& target, std::size_t first,
                const TensorValues& values, Execution& execution) {
  const Part part = part_at(shape, target, first);
  const std::vector<std::size_t> holders = term_holders(target, first);
  if (static_cast<std::int64_t>(holders.size()) != num_terms(target)) return true;
  std::vector<const Array*> terms;
  for (const std::size_t position : holders) {
    const SimulatedRank& own = *execution.find(target.mesh.ids()[position]);
    if (!own.tensor || own.tensor->shape != shape_of(part) || !own.pieces.empty()) {
      return execution.fail(
          own, own.tensor ? "ends with a tensor of another shape" : "ends without a tensor");
    }
    terms.push_back(&*own.tensor);
  }
  const redistribution::ReduceOp op = reduction_of(target);
  const std::int64_t divisor = average_divisor(target);
  bool is_right = true;
  std::size_t next = 0;
  for_each_element(shape, part, [&](std::size_t flat) {
    std::int64_t total = terms.front()->values[next];
    for (std::size_t k = 1; k < terms.size(); ++k) {
      const std::int64_t other = terms[k]->values[next];
      total = combine(total, other, op);
    }
    ++next;
    is_right = is_right && total == values.value(flat) * divisor;
  });
  return is_right ||
         execution.fail(*execution.find(target.mesh.ids()[first]), "ends with wrong data");
}

}  // namespace

Simulation simulate(const Shape& shape, const RankPlacement& source, const RankPlacement& target,
                    const ReshardPlan& plan) {
  const TensorValues values(shape, source);
  Execution execution;
  for (std::size_t i = 0; i < source.mesh.size(); ++i)
    execution.rank(source.mesh.ids()[i]).tensor = values.share(i);
  for (const Rank rank : target.mesh.ids())
    execution.rank(rank);
  for (const auto& [rank, steps] : plan.ranks)
    execution.rank(rank).steps = &steps;
  bool goes_on = execution.run();
  for (std::size_t first = 0; first < target.mesh.size() && goes_on; ++first)
    goes_on = check_part(shape, target, first, values, execution);
  return execution.result();
}

Simulation simulate(const Shape& shape, const DistAttr& source, const DistAttr& target,
                    const ReshardPlan& plan) {
  return simulate(shape, placed(source), placed(target), plan);
}

}  // namespace shardwright::program
