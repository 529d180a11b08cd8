// The tensors that a device holds while a graph runs, with their lifetimes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// A use of a tensor: an input of a node, or an output of the graph. For output o of the graph, the
// consumer is the number of nodes + o, and the input is 0.
struct TakenTensor {
  std::uint32_t consumer = 0;
  std::uint32_t input = 0;

  friend auto operator<=>(const TakenTensor&, const TakenTensor&) = default;
};

TensorRef taken_value(const AtenGraph& graph, const TakenTensor& taken);

// The moments at which memory may peak. The nodes follow each other in order. A node has one moment
// per input, during which the input is moved, then one moment during which the node runs, then one
// moment per graph output of the node, during which the output is moved. A last moment follows.
// Thread safety: a value.
class TimeLine {
 public:
  explicit TimeLine(const AtenGraph& graph);

  std::uint32_t size() const { return static_cast<std::uint32_t>(node_.size()); }
  std::uint32_t begin_of(std::uint32_t node) const { return begin_[node]; }
  std::uint32_t end_of(std::uint32_t node) const { return begin_[node + 1]; }
  std::uint32_t run_of(std::uint32_t node) const { return run_[node]; }
  std::uint32_t move_of(const TakenTensor& taken) const;
  // Returns the node of a moment, or the number of nodes for the last moment.
  std::uint32_t node_at(std::uint32_t moment) const { return node_[moment]; }

 private:
  std::vector<std::uint32_t> begin_;  // by node; also the last moment
  std::vector<std::uint32_t> run_;    // by node
  std::vector<std::uint32_t> leave_;  // by output of the graph
  std::vector<std::uint32_t> node_;   // by moment
};

// A tensor of which a device holds `copies` copies during an interval of moments of the TimeLine.
struct HeldTensor {
  enum class Kind : std::uint8_t {
    kOutput,       // output `tensor` of node `index`
    kMoving,       // buffers while input `tensor` of consumer `index` moves
    kMoved,        // moved copy of this input, if it was moved
    kLastTaken,    // input `tensor` of node `index`, moved or not, after its last other use
    kGraphOutput,  // output `index` of the graph, in its own placement
  };
  Kind kind = Kind::kOutput;
  std::uint32_t index = 0;
  std::uint32_t tensor = 0;
  LiveInterval live;
  std::int64_t copies = 1;

  bool is_taken() const { return kind == Kind::kMoving || kind == Kind::kMoved; }
  // Precondition: is_taken().
  TakenTensor taken() const { return {index, tensor}; }
};

// Returns the tensors that a device holds: tensors by node, then by output of the graph. Parameters
// and buffers are held all the time, parameters with `optimizer_states` more copies. Inputs are
// held from the start, tangents from the first backward operator, and the output of an operator
// from the moment at which it runs. Each is held until the end of its last use. A view holds
// nothing and extends the lifetime of the viewed tensor. A moved input has a copy until the
// operator has run, or as long as a view of the copy lives. If the move is the last use of its
// source, the source is freed after the move (kLastTaken). An output of the graph is moved as soon
// as it is computed and then held to the end, unless it shares the storage of a placeholder.
std::vector<HeldTensor> held_tensors(const AtenGraph& graph, std::int64_t optimizer_states);

// For reports: time point t is all moments of node t. A last time point follows all nodes.
inline std::uint32_t num_time_points(const AtenGraph& graph) {
  return static_cast<std::uint32_t>(graph.size()) + 1;
}

// The library that runs the collectives; libraries differ in their buffers.
enum class CollectiveBackend : std::uint8_t { kNccl, kGloo };

// Returns the peak bytes of a move beside its source, including its result; 0 if nothing moves.
// Every axis is a step with its own output buffer. Steps that shrink the tensor come first,
// gathering steps last. An all-gather along a dimension other than the first copies its result, and
// a reduce-scatter along such a dimension copies its input. With gloo, an all-to-all is an
// all-gather followed by a slice. With NCCL, an all-to-all receives as much as it sends. It copies
// what it sends if it shards such a dimension, and what it receives if it gathers one.
// Source: torch 2.13, torch/distributed/_functional_collectives.py (all_gather_single,
// reduce_scatter_single), torch/distributed/tensor/_collective_utils.py and
// torch/csrc/distributed/c10d/Functional.cpp (shard_dim_alltoall).
// O(axes^2).
std::int64_t moving_bytes(const AtenTensor& tensor, const redistribution::MeshShape& mesh,
                          const redistribution::Placement& source,
                          const redistribution::Placement& target, CollectiveBackend backend);

}  // namespace shardwright::operators
