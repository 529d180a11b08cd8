// The graph that a reduction works on: nodes lose strategies, edges appear and vanish.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/operators/elimination/bucket_sum.h"
#include "search/operators/solve/reduce/reduce.h"

namespace shardwright::operators {

// A cost instance under change. Strategies are numbered anew whenever some are removed; `origins`
// tells which they were at first. At most one edge joins two nodes.
// Thread safety: none.
class ReductionGraph {
 public:
  // Bytes that the strategies of a node hold during an interval.
  struct Segment {
    LiveInterval live;
    std::vector<std::int64_t> bytes;
  };
  struct Node {
    bool alive = true;
    bool queued = false;
    bool overlaps = false;  // segments may be live at the same time; see normalize
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
  // An edge as one of its ends sees it.
  struct Side {
    const double* costs;
    std::size_t own_stride;
    std::size_t other_stride;
    std::uint32_t other;
    std::uint32_t other_size;

    double at(std::uint32_t own, std::uint32_t partner) const {
      return costs[own * own_stride + partner * other_stride];
    }
  };

  explicit ReductionGraph(const CostInstance& instance);

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::int64_t> limits;  // by time point
  std::vector<std::uint32_t> times;  // what the time points were at first
  double constant = 0;
  bool infeasible = false;
  std::vector<Reduction::Elimination> eliminations;

  Side side(std::uint32_t edge, std::uint32_t node) const;
  // Nodes that changed since they were looked at last.
  void touch(std::uint32_t node);
  bool next(std::uint32_t& node);

  // Removes the strategies that are not to be kept; none left = infeasible.
  void keep(std::uint32_t node, std::span<const char> kept);
  // Adds `costs` (rows = strategies of `first`) to the edge between the two, made where absent.
  void add_edge(std::uint32_t first, std::uint32_t second, std::vector<double> costs);
  void remove_edge(std::uint32_t edge);

  // The node, which holds no memory and has at most two neighbours, takes its best strategy for
  // each choice of them.
  void eliminate(std::uint32_t node);
  // `node` has one strategy: its costs go to its neighbours, its memory is taken off the limits.
  void fix(std::uint32_t node);
  // Strategy s of `into` implies strategy partner[s] of `node`, which `into` takes over.
  void merge(std::uint32_t node, std::uint32_t into, std::span<const std::uint32_t> partner);
  // Makes the segments of the node disjoint and ordered.
  void normalize(std::uint32_t node);

 private:
  void detach(std::uint32_t node);
  static const double* node_fastest(const Side& side, std::uint32_t size,
                                    std::vector<double>& scratch);
  std::size_t send_message(std::uint32_t node);
  void record(std::uint32_t node, std::uint32_t neighbour, std::span<const std::uint32_t> best);

  std::vector<std::uint32_t> original_size_;
  std::vector<std::uint32_t> queue_;
  BucketSum<double> sum_;
  std::array<std::vector<double>, 2> packed_;  // scratch: the tables of a node's edges
  std::vector<double> message_;
  std::vector<std::uint32_t> best_;
};

}  // namespace shardwright::operators
