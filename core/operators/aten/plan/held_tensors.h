// Which tensors a device holds from when to when while a graph runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/aten/graph/aten_graph.h"
#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// A tensor that is held during time points, `copies` times. Time point t is when node t runs; a
// last one follows all nodes.
struct HeldTensor {
  enum class Kind : std::uint8_t {
    kOutput,       // output `tensor` of node `index`
    kMovedInput,   // the first input of the view `index`, if it was redistributed for it
    kGraphOutput,  // output `index` of the graph, in its own placement
  };
  Kind kind = Kind::kOutput;
  std::uint32_t index = 0;
  std::uint32_t tensor = 0;
  LiveInterval live;
  std::int64_t copies = 1;
};

// Parameters and buffers are held all the time, a parameter with `optimizer_states` more copies of
// it. Other placeholders are held from the start, outputs of operators from when they are made,
// both to their last use. A view holds nothing and prolongs the life of what it views, but an input
// that was redistributed for it is held like the view's own output. Outputs of the graph are moved
// to their placement as soon as they are made, and held to the end, unless they are placeholders.
// What a redistribution needs while an operator runs is not counted. By node, then by output of the
// graph.
std::vector<HeldTensor> held_tensors(const AtenGraph& graph, std::int64_t optimizer_states);

inline std::uint32_t num_time_points(const AtenGraph& graph) {
  return static_cast<std::uint32_t>(graph.size()) + 1;
}

}  // namespace shardwright::operators
