#include "core/operators/aten/plan/held_tensors.h"

#include <algorithm>

namespace shardwright::operators {
namespace {

// By node and output, the time point after the last use.
using Ends = std::vector<std::vector<std::uint32_t>>;

Ends ends_of_life(const AtenGraph& graph) {
  Ends ends(graph.size());
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    ends[n].assign(graph[n].outputs.size(), n + 1);
  // Consumers come after producers, so a view's own life is known before that of what it views.
  for (auto n = static_cast<std::uint32_t>(graph.size()); n-- > 0;) {
    const AtenNode& node = graph[n];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      std::uint32_t& end = ends[node.inputs[i].node][node.inputs[i].output];
      const bool is_viewed = node.view && i == 0;
      const std::uint32_t until =
          is_viewed ? *std::max_element(ends[n].begin(), ends[n].end()) : n + 1;
      end = std::max(end, until);
    }
  }
  return ends;
}

bool lives_forever(const AtenNode& node) {
  return node.role == AtenRole::kParameter || node.role == AtenRole::kBuffer;
}

// The node whose storage an output shares.
const AtenNode& owner(const AtenGraph& graph, std::uint32_t node) {
  while (graph[node].view)
    node = graph[node].inputs[0].node;
  return graph[node];
}

}  // namespace

std::vector<HeldTensor> held_tensors(const AtenGraph& graph, std::int64_t optimizer_states) {
  const std::uint32_t end_of_time = num_time_points(graph);
  const Ends ends = ends_of_life(graph);
  std::vector<HeldTensor> held;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const AtenNode& node = graph[n];
    if (node.view) {
      const std::uint32_t end = *std::max_element(ends[n].begin(), ends[n].end());
      held.push_back({HeldTensor::Kind::kMovedInput, n, 0, {n, end}, 1});
      continue;
    }
    for (std::uint32_t o = 0; o < node.outputs.size(); ++o) {
      if (!node.outputs[o]) continue;
      HeldTensor tensor{HeldTensor::Kind::kOutput, n, o, {n, ends[n][o]}, 1};
      if (node.is_placeholder()) tensor.live.begin = 0;
      if (lives_forever(node)) tensor.live.end = end_of_time;
      if (node.role == AtenRole::kParameter) tensor.copies += optimizer_states;
      held.push_back(tensor);
    }
  }
  for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
    const TensorRef& value = graph.outputs()[o].value;
    if (owner(graph, value.node).is_placeholder()) continue;
    held.push_back({HeldTensor::Kind::kGraphOutput, o, 0, {value.node + 1, end_of_time}, 1});
  }
  return held;
}

}  // namespace shardwright::operators
