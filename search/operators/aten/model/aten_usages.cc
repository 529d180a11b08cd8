#include "search/operators/aten/model/aten_usages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "core/operators/aten/memory/held_tensors.h"
#include "core/operators/instance/live_intervals.h"

namespace shardwright::operators {
namespace {

using HeldKind = HeldTensor::Kind;
using Bytes = std::vector<std::int64_t>;

// By placement, and then by strategy.
Bytes bytes_of_column(const AtenTensor& tensor, const std::optional<PlacementColumn>& column,
                      std::int64_t copies, const AtenVariables& variables,
                      std::uint32_t class_number) {
  const std::size_t size = variables.class_strategies(class_number).size();
  const redistribution::MeshShape& mesh = variables.mesh();
  if (!column) return Bytes(size, copies * local_bytes(tensor, mesh, {}));
  Bytes by_placement;
  for (const redistribution::Placement& placement : column->distinct)
    by_placement.push_back(copies * local_bytes(tensor, mesh, placement));
  Bytes bytes;
  for (std::size_t s = 0; s < size; ++s)
    bytes.push_back(by_placement[column->index[s]]);
  return bytes;
}

// The choice that decides about a tensor. None: a tensor without a mover.
std::optional<std::uint32_t> variable_of(const AtenVariables& variables, const HeldTensor& held) {
  if (held.is_taken()) return variables.mover_of(held.taken());
  return held.kind == HeldKind::kGraphOutput ? variables.output_variable(held.index) : held.index;
}

// The bytes of a tensor on its way, by choice of its mover: none where it stays.
Bytes bytes_of_moved(const AtenVariables& variables, const HeldTensor& held,
                     std::uint32_t class_number) {
  const StrategyClass& mover = variables.class_strategies(class_number);
  if (held.kind == HeldKind::kMoving) return mover.moving_bytes;
  const AtenGraph& graph = variables.graph();
  Bytes bytes = bytes_of_column(graph.tensor(taken_value(graph, held.taken())), mover.outputs[0], 1,
                                variables, class_number);
  for (std::size_t s = 0; s < bytes.size(); ++s) {
    if (mover.moving_bytes[s] == 0) bytes[s] = 0;
  }
  return bytes;
}

// The bytes of one tensor, by choice of its variable.
Bytes bytes_of_held(const AtenVariables& variables, const HeldTensor& held,
                    std::uint32_t variable) {
  const AtenGraph& graph = variables.graph();
  const std::uint32_t number = variables.class_of(variable);
  if (held.is_taken()) return bytes_of_moved(variables, held, number);
  const StrategyClass& strategies = variables.strategies(variable);
  if (held.kind == HeldKind::kGraphOutput) {
    return bytes_of_column(graph.tensor(graph.outputs()[held.index].value), strategies.inputs[0],
                           held.copies, variables, number);
  }
  if (held.kind == HeldKind::kLastTaken) {
    return bytes_of_column(graph.tensor(graph[held.index].inputs[held.tensor]),
                           strategies.inputs[held.tensor], held.copies, variables, number);
  }
  return bytes_of_column(*graph[held.index].outputs[held.tensor], strategies.outputs[held.tensor],
                         held.copies, variables, number);
}

// By time point, the sum over all tensors of the least that a choice holds.
std::vector<std::int64_t> least_sums(const AtenUsages& usages) {
  std::vector<std::int64_t> sums(usages.num_time_points + 1, 0);  // changes, until they are summed
  for (const AtenUsages::Usage& usage : usages.usages) {
    const std::vector<std::int64_t>& bytes = usages.bytes[usage.bytes];
    const std::int64_t least = *std::min_element(bytes.begin(), bytes.end());
    sums[usage.live.begin] += least;
    sums[usage.live.end] -= least;
  }
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  return sums;
}

}  // namespace

AtenUsages make_usages(const AtenVariables& variables, std::int64_t optimizer_states) {
  const AtenGraph& graph = variables.graph();
  std::vector<HeldTensor> held = held_tensors(graph, optimizer_states);
  std::erase_if(held, [&](const HeldTensor& tensor) { return !variable_of(variables, tensor); });
  std::vector<TimeInterval> intervals;
  intervals.reserve(held.size());
  for (const HeldTensor& tensor : held)
    intervals.push_back({tensor.live.begin, tensor.live.end});
  const CompressedIntervals compressed = compress(intervals);
  AtenUsages result;
  result.num_time_points = compressed.num_time_points;
  // Many tensors are alike: their bytes are worked out once.
  std::map<std::tuple<std::uint32_t, HeldKind, std::uint32_t, std::int64_t>, std::uint32_t> known;
  for (std::size_t h = 0; h < held.size(); ++h) {
    if (compressed.intervals[h].empty()) continue;
    const std::uint32_t variable = *variable_of(variables, held[h]);
    const auto [at, is_new] = known.try_emplace(
        {variables.class_of(variable), held[h].kind, held[h].tensor, held[h].copies},
        static_cast<std::uint32_t>(result.bytes.size()));
    if (is_new) result.bytes.push_back(bytes_of_held(variables, held[h], variable));
    result.usages.push_back({variable, compressed.intervals[h], at->second});
  }
  return result;
}

std::int64_t least_peak(const AtenUsages& usages) {
  const std::vector<std::int64_t> sums = least_sums(usages);
  return *std::max_element(sums.begin(), sums.end());
}

std::size_t fullest_time(const AtenUsages& usages) {
  const std::vector<std::int64_t> sums = least_sums(usages);
  return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

}  // namespace shardwright::operators
