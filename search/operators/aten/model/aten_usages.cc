#include "search/operators/aten/model/aten_usages.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/operators/aten/plan/held_tensors.h"
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

// The bytes of one tensor, by choice of its variable.
Bytes bytes_of_held(const AtenVariables& variables, const HeldTensor& held) {
  const AtenGraph& graph = variables.graph();
  if (held.kind == HeldKind::kGraphOutput) {
    const std::uint32_t variable = variables.output_variable(held.index);
    return bytes_of_column(graph.tensor(graph.outputs()[held.index].value),
                           variables.strategies(variable).inputs[0], held.copies, variables,
                           variables.class_of(variable));
  }
  const std::uint32_t number = variables.class_of(held.index);
  const StrategyClass& strategies = variables.strategies(held.index);
  const AtenNode& node = graph[held.index];
  const bool is_output = held.kind == HeldKind::kOutput;
  Bytes bytes =
      bytes_of_column(is_output ? *node.outputs[held.tensor] : graph.tensor(node.inputs[0]),
                      is_output ? strategies.outputs[held.tensor] : strategies.inputs[0],
                      held.copies, variables, number);
  // A view holds nothing where it takes its input as it lies.
  if (!is_output) bytes.insert(bytes.begin(), bytes.size(), 0);
  return bytes;
}

}  // namespace

AtenUsages make_usages(const AtenVariables& variables, std::int64_t optimizer_states) {
  const AtenGraph& graph = variables.graph();
  std::vector<HeldTensor> held = held_tensors(graph, optimizer_states);
  std::erase_if(held, [&](const HeldTensor& tensor) {
    return tensor.kind == HeldKind::kMovedInput &&
           !variables.owns(variables.class_of(tensor.index));
  });
  std::vector<TimeInterval> intervals;
  for (const HeldTensor& tensor : held)
    intervals.push_back({tensor.live.begin, tensor.live.end});
  const CompressedIntervals compressed = compress(intervals);
  AtenUsages result;
  result.num_time_points = compressed.num_time_points;
  // Many tensors are alike: their bytes are worked out once.
  std::map<std::tuple<std::uint32_t, HeldKind, std::uint32_t, std::int64_t>, std::uint32_t> known;
  for (std::size_t h = 0; h < held.size(); ++h) {
    if (compressed.intervals[h].empty()) continue;
    const std::uint32_t variable = held[h].kind == HeldKind::kGraphOutput
                                       ? variables.output_variable(held[h].index)
                                       : held[h].index;
    const auto [at, is_new] = known.try_emplace(
        {variables.class_of(variable), held[h].kind, held[h].tensor, held[h].copies},
        static_cast<std::uint32_t>(result.bytes.size()));
    if (is_new) result.bytes.push_back(bytes_of_held(variables, held[h]));
    result.usages.push_back({variable, compressed.intervals[h], at->second});
  }
  return result;
}

std::int64_t least_peak(const AtenUsages& usages) {
  std::vector<std::int64_t> change(usages.num_time_points + 1, 0);
  for (const AtenUsages::Usage& usage : usages.usages) {
    const std::vector<std::int64_t>& bytes = usages.bytes[usage.bytes];
    const std::int64_t least = *std::min_element(bytes.begin(), bytes.end());
    change[usage.live.begin] += least;
    change[usage.live.end] -= least;
  }
  std::int64_t held = 0;
  std::int64_t peak = 0;
  for (const std::int64_t each : change) {
    held += each;
    peak = std::max(peak, held);
  }
  return peak;
}

}  // namespace shardwright::operators
