// The graph that a reduction works on: nodes lose strategies, edges come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/operators/solve/reduce/node_message.h"
#include "search/operators/solve/reduce/reduce.h"
#include "search/operators/solve/reduce/segments.h"

namespace shardwright::operators {

// A cost instance that can change. Removing strategies renumbers the others; `origins` has their
// original numbers. At most one edge joins two nodes.
// Thread safety: one thread at a time.
class ReductionGraph {
 public:
  struct Node {
    bool alive = true;
    bool queued = false;
    bool overlaps = false;  // segments may overlap in time; see normalize()
    std::vector<double> costs;
    std::vector<std::uint32_t> origins;
    std::vector<std::uint32_t> edges;
    std::vector<Segment> segments;

    std::uint32_t size() const { return static_cast<std::uint32_t>(costs.size()); }
  };
  struct Edge {
    bool alive = true;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::vector<double> costs;  // row-major, rows = strategies of the first
  };
  using Side = EdgeSide;

  explicit ReductionGraph(const CostInstance& instance);

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::int64_t> limits;  // by time point
  std::vector<std::uint32_t> times;  // the original number of each time point
  double constant = 0;
  bool infeasible = false;
  std::vector<Reduction::Elimination> eliminations;

  Side side(std::uint32_t edge, std::uint32_t node) const;
  // A queue of the nodes that have changed. next() returns false if it is empty.
  void touch(std::uint32_t node);
  bool next(std::uint32_t& node);

  // Removes the strategies s with kept[s] = 0. If none is left, the instance is infeasible.
  void keep(std::uint32_t node, std::span<const char> kept);
  // Adds `costs` (rows = strategies of `first`) to the edge between the two, or makes one.
  void add_edge(std::uint32_t first, std::uint32_t second, std::vector<double> costs);
  void remove_edge(std::uint32_t edge);

  // Removes the node, which takes its best strategy for each choice of its neighbours.
  // Precondition: it holds no memory and has at most two neighbours.
  void eliminate(std::uint32_t node);
  // Removes the node: adds its costs to its neighbours and subtracts its bytes from the limits.
  // Precondition: it has one strategy.
  void fix(std::uint32_t node);
  // Removes `node` and gives its costs, edges and memory to `into`, whose strategy s implies
  // partner[s] of `node`.
  void merge(std::uint32_t node, std::uint32_t into, std::span<const std::uint32_t> partner);
  // Makes the segments of the node disjoint and orders them by time.
  void normalize(std::uint32_t node);

 private:
  void detach(std::uint32_t node);
  void record(std::uint32_t node, std::uint32_t neighbour, std::span<const std::uint32_t> best);

  std::vector<std::uint32_t> original_size_;
  std::vector<std::uint32_t> queue_;
  NodeMessage message_;
};

}  // namespace shardwright::operators
