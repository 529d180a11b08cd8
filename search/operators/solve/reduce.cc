#include "search/operators/solve/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "search/operators/elimination/bucket_tree.h"

namespace shardwright::operators {
namespace {

// Bytes that the strategies of a node hold during an interval.
struct Segment {
  LiveInterval live;
  std::vector<std::int64_t> bytes;  // by strategy
};

// An edge as seen from one of its nodes.
struct EdgeSide {
  const double* costs;
  std::size_t own_stride;
  std::size_t other_stride;
  std::uint32_t other;
  std::uint32_t other_size;

  double at(std::uint32_t own, std::uint32_t partner) const {
    return costs[own * own_stride + partner * other_stride];
  }
};

struct Border {
  std::uint32_t time;
  std::uint32_t segment;
  std::int64_t sign;
};

std::vector<Border> borders_by_time(const std::vector<Segment>& segments) {
  std::vector<Border> borders;
  for (std::uint32_t i = 0; i < segments.size(); ++i) {
    borders.push_back({segments[i].live.begin, i, +1});
    borders.push_back({segments[i].live.end, i, -1});
  }
  std::sort(borders.begin(), borders.end(),
            [](const Border& a, const Border& b) { return a.time < b.time; });
  return borders;
}

// Returns the edge's entries as BucketSum reads them: the node's own strategy varies fastest.
const double* own_fastest(const EdgeSide& side, std::size_t own_size,
                          std::vector<double>& scratch) {
  if (side.own_stride == 1) return side.costs;
  const std::size_t entries = own_size * side.other_size;
  if (scratch.size() < entries) scratch.resize(entries);
  double* to = scratch.data();
  for (std::uint32_t k = 0; k < side.other_size; ++k) {
    for (std::uint32_t s = 0; s < own_size; ++s)
      *to++ = side.at(s, k);
  }
  return scratch.data();
}

template <class T>
void compact(std::vector<T>& values, std::span<const char> kept) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < values.size(); ++from) {
    if (kept[from] != 0) values[to++] = std::move(values[from]);
  }
  values.resize(to);
}

// Removes a node: for each choice of its neighbours, the least cost of node and edges. Reuses its
// buffers for the next node.
// Thread safety: one thread at a time.
class NodeMessage {
 public:
  static constexpr std::size_t kMaxEdges = 2;

  // Computes, for each choice of the neighbours, the least cost of the node with its edges and the
  // strategy that has this cost. The strategy of the second neighbour varies fastest. Precondition:
  // at most kMaxEdges edges.
  void send(std::span<const double> costs, std::span<const EdgeSide> edges) {
    const auto own_size = static_cast<std::uint32_t>(costs.size());
    const std::size_t count = edges.size();
    std::array<const double*, kMaxEdges> tables{};
    std::array<std::uint32_t, kMaxEdges> sizes{};
    std::array<std::size_t, kMaxEdges * kMaxEdges> strides{};
    size_ = 1;
    for (std::size_t e = 0; e < count; ++e) {
      tables[e] = own_fastest(edges[e], own_size, packed_[e]);
      sizes[e] = edges[e].other_size;
      strides[e * count + e] = own_size;
      size_ *= edges[e].other_size;
    }
    if (costs_.size() < size_) {
      costs_.resize(size_);
      best_.resize(size_);
    }
    // Each edge depends on one neighbour, so factor i has level i + 1.
    constexpr std::array<std::uint32_t, kMaxEdges> kLevels{1, 2};
    const BucketShape shape{own_size, std::span(sizes).first(count),
                            std::span(kLevels).first(count), strides.data()};
    sum_.start(shape, costs.data(), [&](std::size_t f) { return tables[f]; });
    sum_.send(costs_.data(), best_.data());
  }

  std::span<const double> costs() const { return std::span(costs_).first(size_); }
  std::span<const std::uint32_t> best() const { return std::span(best_).first(size_); }

 private:
  std::size_t size_ = 0;
  std::vector<double> costs_;
  std::vector<std::uint32_t> best_;
  BucketSum<double> sum_;
  std::array<std::vector<double>, kMaxEdges> packed_;  // scratch of own_fastest()
};

// Replaces overlapping segments by disjoint segments in order of time that hold the sums of their
// bytes. Joins adjacent segments with equal bytes.
void make_disjoint(std::vector<Segment>& segments, std::size_t num_strategies) {
  const std::vector<Border> borders = borders_by_time(segments);
  std::vector<Segment> disjoint;
  std::vector<std::int64_t> held(num_strategies, 0);
  for (std::size_t i = 0; i < borders.size();) {
    const std::uint32_t time = borders[i].time;
    for (; i < borders.size() && borders[i].time == time; ++i) {
      const auto& bytes = segments[borders[i].segment].bytes;
      for (std::size_t s = 0; s < held.size(); ++s)
        held[s] += borders[i].sign * bytes[s];
    }
    const bool nothing =
        std::all_of(held.begin(), held.end(), [](auto bytes) { return bytes == 0; });
    if (i == borders.size() || nothing) continue;
    const LiveInterval live{time, borders[i].time};
    if (!disjoint.empty() && disjoint.back().live.end == time && disjoint.back().bytes == held) {
      disjoint.back().live.end = live.end;
    } else {
      disjoint.push_back(Segment{live, held});
    }
  }
  segments = std::move(disjoint);
}

// A cost instance that can be modified. Removing strategies renumbers the others; `origins` has
// their original numbers. At most one edge joins two nodes. Thread safety: one thread at a time.
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

  explicit ReductionGraph(const CostInstance& instance)
      : nodes(instance.num_nodes()), limits(instance.limits().begin(), instance.limits().end()) {
    const auto end_of_time = static_cast<std::uint32_t>(limits.size());
    eliminations.reserve(nodes.size());
    edges.reserve(instance.edges().size());
    queue_.reserve(nodes.size());
    original_size_.reserve(nodes.size());
    for (std::uint32_t t = 0; t < end_of_time; ++t)
      times.push_back(t);
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      Node& node = nodes[i];
      const auto costs = instance.costs(i);
      node.costs.assign(costs.begin(), costs.end());
      original_size_.push_back(node.size());
      node.origins.reserve(node.size());
      for (std::uint32_t s = 0; s < node.size(); ++s)
        node.origins.push_back(s);
      for (const CostInstance::Usage& usage : instance.usages(i)) {
        Segment segment{{usage.live.begin, std::min(usage.live.end, end_of_time)}, {}};
        if (segment.live.empty()) continue;
        segment.bytes.reserve(node.size());
        for (std::uint32_t s = 0; s < node.size(); ++s) {
          segment.bytes.push_back(instance.bytes(usage, s));
        }
        node.segments.push_back(std::move(segment));
      }
      node.overlaps = node.segments.size() > 1;
      touch(i);
    }
    for (const CostInstance::Edge& edge : instance.edges()) {
      const auto matrix = instance.matrix(edge);
      add_edge(edge.first, edge.second, {matrix.begin(), matrix.end()});
    }
  }

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::int64_t> limits;  // by time point
  std::vector<std::uint32_t> times;  // by time point: its original number
  double constant = 0;
  bool infeasible = false;
  std::vector<Reduction::Elimination> eliminations;

  Side side(std::uint32_t edge, std::uint32_t node) const {
    const Edge& e = edges[edge];
    const std::uint32_t columns = nodes[e.second].size();
    if (e.first == node) return {e.costs.data(), columns, 1, e.second, columns};
    return {e.costs.data(), 1, columns, e.first, nodes[e.first].size()};
  }

  // Adds the node to the queue of changed nodes. next() takes one; returns false if there is none.
  void touch(std::uint32_t node) {
    if (nodes[node].queued) return;
    nodes[node].queued = true;
    queue_.push_back(node);
  }

  bool next(std::uint32_t& node) {
    while (!queue_.empty()) {
      node = queue_.back();
      queue_.pop_back();
      nodes[node].queued = false;
      if (nodes[node].alive) return true;
    }
    return false;
  }

  // Removes the strategies s with kept[s] = 0. The instance is infeasible if no strategy remains.
  void keep(std::uint32_t node, std::span<const char> kept) {
    Node& n = nodes[node];
    const std::uint32_t before = n.size();
    for (const std::uint32_t e : n.edges) {
      Edge& edge = edges[e];
      const bool rows = edge.first == node;
      const std::size_t columns = rows ? nodes[edge.second].size() : before;
      std::size_t to = 0;
      for (std::size_t from = 0; from < edge.costs.size(); ++from) {
        if (kept[rows ? from / columns : from % columns] != 0) edge.costs[to++] = edge.costs[from];
      }
      edge.costs.resize(to);
      touch(rows ? edge.second : edge.first);
    }
    compact(n.costs, kept);
    compact(n.origins, kept);
    for (Segment& segment : n.segments)
      compact(segment.bytes, kept);
    infeasible = infeasible || n.costs.empty();
    touch(node);
  }

  // Adds `costs` (rows = strategies of `first`) to the edge of the nodes; makes it if necessary.
  void add_edge(std::uint32_t first, std::uint32_t second, std::vector<double> costs) {
    const std::uint32_t fewer =
        nodes[first].edges.size() <= nodes[second].edges.size() ? first : second;
    for (const std::uint32_t e : nodes[fewer].edges) {
      Edge& edge = edges[e];
      if (edge.first == first && edge.second == second) {
        for (std::size_t i = 0; i < costs.size(); ++i)
          edge.costs[i] += costs[i];
      } else if (edge.first == second && edge.second == first) {
        const std::size_t rows = nodes[first].size();
        const std::size_t columns = nodes[second].size();
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c)
            edge.costs[c * rows + r] += costs[r * columns + c];
        }
      } else {
        continue;
      }
      touch(first);
      touch(second);
      return;
    }
    const auto id = static_cast<std::uint32_t>(edges.size());
    edges.push_back(Edge{true, first, second, std::move(costs)});
    nodes[first].edges.push_back(id);
    nodes[second].edges.push_back(id);
    touch(first);
    touch(second);
  }

  void remove_edge(std::uint32_t edge) {
    Edge& e = edges[edge];
    e.alive = false;
    for (const std::uint32_t end : {e.first, e.second}) {
      auto& list = nodes[end].edges;
      *std::find(list.begin(), list.end(), edge) = list.back();
      list.pop_back();
      touch(end);
    }
    std::vector<double>().swap(e.costs);
  }

  // Removes the node. It takes its best strategy for each choice of its neighbours. Precondition:
  // the node holds no memory and has at most two neighbours.
  void eliminate(std::uint32_t node) {
    const Node& n = nodes[node];
    std::array<Side, NodeMessage::kMaxEdges> sides{};
    for (std::size_t e = 0; e < n.edges.size(); ++e)
      sides[e] = side(n.edges[e], node);
    message_.send(n.costs, std::span(sides).first(n.edges.size()));
    const std::span<const double> least = message_.costs();
    const std::span<const std::uint32_t> best = message_.best();
    if (n.edges.empty()) {
      std::vector<char> kept(n.size(), 0);
      kept[best[0]] = 1;
      keep(node, kept);
      return fix(node);
    }
    const std::uint32_t first = sides[0].other;
    if (n.edges.size() == 1) {
      for (std::size_t k = 0; k < least.size(); ++k)
        nodes[first].costs[k] += least[k];
      record(node, first, best);
      return detach(node);
    }
    const std::uint32_t second = sides[1].other;
    const std::uint32_t columns = nodes[second].size();
    Reduction::Elimination elimination;
    elimination.node = node;
    elimination.first = first;
    elimination.second = second;
    elimination.columns = original_size_[second];
    elimination.best.assign(std::size_t{original_size_[first]} * original_size_[second], 0);
    for (std::uint32_t j = 0; j < nodes[first].size(); ++j) {
      for (std::uint32_t k = 0; k < columns; ++k) {
        elimination.best[std::size_t{nodes[first].origins[j]} * elimination.columns +
                         nodes[second].origins[k]] = n.origins[best[std::size_t{j} * columns + k]];
      }
    }
    eliminations.push_back(std::move(elimination));
    detach(node);
    add_edge(first, second, {least.begin(), least.end()});
  }

  // Removes the node: adds its edges' costs to its neighbours and subtracts its bytes from the
  // limits. Precondition: the node has one strategy.
  void fix(std::uint32_t node) {
    Node& n = nodes[node];
    constant += n.costs[0];
    for (const std::uint32_t e : n.edges) {
      const Side s = side(e, node);
      for (std::uint32_t k = 0; k < s.other_size; ++k)
        nodes[s.other].costs[k] += s.at(0, k);
    }
    for (const Segment& segment : n.segments) {
      for (std::uint32_t t = segment.live.begin; t < segment.live.end; ++t) {
        limits[t] -= segment.bytes[0];
      }
    }
    Reduction::Elimination elimination;
    elimination.node = node;
    elimination.best = {n.origins[0]};
    eliminations.push_back(std::move(elimination));
    detach(node);
  }

  // Removes `node`, whose strategy is partner[s] if `into` takes strategy s. Adds its costs, edges
  // and memory to `into`.
  void merge(std::uint32_t node, std::uint32_t into, std::span<const std::uint32_t> partner) {
    record(node, into, partner);
    Node& n = nodes[node];
    Node& target = nodes[into];
    const std::uint32_t size = target.size();
    const std::vector<std::uint32_t> own = n.edges;
    for (const std::uint32_t e : own) {
      const Side s = side(e, node);
      if (s.other == into) {
        for (std::uint32_t i = 0; i < size; ++i) {
          target.costs[i] += n.costs[partner[i]] + s.at(partner[i], i);
        }
        continue;
      }
      std::vector<double> costs;
      costs.reserve(std::size_t{size} * s.other_size);
      for (std::uint32_t i = 0; i < size; ++i) {
        for (std::uint32_t k = 0; k < s.other_size; ++k)
          costs.push_back(s.at(partner[i], k));
      }
      add_edge(into, s.other, std::move(costs));
    }
    for (Segment& segment : n.segments) {
      std::vector<std::int64_t> bytes(size);
      for (std::uint32_t i = 0; i < size; ++i)
        bytes[i] = segment.bytes[partner[i]];
      target.segments.push_back({segment.live, std::move(bytes)});
    }
    target.overlaps = target.segments.size() > 1;
    detach(node);
    touch(into);
  }

  // Makes the segments of the node disjoint and orders them by time.
  void normalize(std::uint32_t node) {
    Node& n = nodes[node];
    if (!n.overlaps) return;
    n.overlaps = false;
    make_disjoint(n.segments, n.size());
  }

 private:
  void detach(std::uint32_t node) {
    while (!nodes[node].edges.empty())
      remove_edge(nodes[node].edges.back());
    nodes[node].alive = false;
    nodes[node].segments.clear();
  }

  // Records an elimination. best[s]: the strategy of `node` if the neighbour takes strategy s.
  void record(std::uint32_t node, std::uint32_t neighbour, std::span<const std::uint32_t> best) {
    Reduction::Elimination elimination;
    elimination.node = node;
    elimination.first = neighbour;
    elimination.best.assign(original_size_[neighbour], 0);
    for (std::uint32_t s = 0; s < best.size(); ++s) {
      elimination.best[nodes[neighbour].origins[s]] = nodes[node].origins[best[s]];
    }
    eliminations.push_back(std::move(elimination));
  }

  std::vector<std::uint32_t> original_size_;
  std::vector<std::uint32_t> queue_;
  NodeMessage message_;
};

void find_cheapest_partners(std::span<const EdgeSide> sides, std::uint32_t s,
                            std::vector<std::uint32_t>& cheapest) {
  cheapest.assign(sides.size(), 0);
  for (std::size_t e = 0; e < sides.size(); ++e) {
    for (std::uint32_t k = 1; k < sides[e].other_size; ++k) {
      if (sides[e].at(s, k) < sides[e].at(s, cheapest[e])) cheapest[e] = k;
    }
  }
}

// Returns true if t dominates s (see Dominance). `cheapest`: by edge, the cheapest partner of s.
bool dominates(const ReductionGraph::Node& n, std::span<const EdgeSide> sides,
               std::span<const std::uint32_t> cheapest, std::uint32_t t, std::uint32_t s) {
  // The loss of t with the cheapest partners of s is a lower bound, which rejects most pairs.
  double loss = n.costs[t] - n.costs[s];
  for (std::size_t e = 0; e < sides.size(); ++e)
    loss += sides[e].at(t, cheapest[e]) - sides[e].at(s, cheapest[e]);
  if (loss > 0) return false;
  for (const Segment& segment : n.segments) {
    if (segment.bytes[t] > segment.bytes[s]) return false;
  }
  loss = n.costs[t] - n.costs[s];
  for (const EdgeSide& side : sides) {
    double most = -kForbidden;
    for (std::uint32_t k = 0; k < side.other_size; ++k) {
      const double cost = side.at(s, k);
      if (cost < kForbidden) most = std::max(most, side.at(t, k) - cost);
    }
    loss += most;
    if (loss == kForbidden) return false;
  }
  return loss <= 0;
}

// Removes dominated strategies. Strategy t dominates s if t costs no more than s whatever the
// neighbours choose, and holds no more bytes at any time. Keeps its scratch from node to node.
// Source: Goldstein, Efficient rotamer elimination applied to protein side-chains, 1994. Thread
// safety: one thread at a time.
class Dominance {
 public:
  // Removes the dominated strategies of the node; of equal strategies, the last remains. Returns
  // false if none is dominated. Makes the segments of the node disjoint.
  bool remove_dominated(ReductionGraph& graph, std::uint32_t node) {
    graph.normalize(node);
    const ReductionGraph::Node& n = graph.nodes[node];
    sides_.clear();
    for (const std::uint32_t edge : n.edges)
      sides_.push_back(graph.side(edge, node));
    kept_.assign(n.size(), 1);
    bool any = false;
    for (std::uint32_t s = 0; s < n.size(); ++s) {
      find_cheapest_partners(sides_, s, cheapest_);
      for (std::uint32_t t = 0; t < n.size() && kept_[s] != 0; ++t) {
        if (t == s || kept_[t] == 0 || !dominates(n, sides_, cheapest_, t, s)) continue;
        kept_[s] = 0;
        any = true;
      }
    }
    if (any) graph.keep(node, kept_);
    return any;
  }

 private:
  std::vector<char> kept_;
  std::vector<ReductionGraph::Side> sides_;
  std::vector<std::uint32_t> cheapest_;  // by edge: the cheapest partner of s
};

using Node = ReductionGraph::Node;

// Returns the minimum of ranges of a fixed sequence in O(1). Thread safety: const members.
class RangeMinimum {
 public:
  explicit RangeMinimum(const std::vector<std::int64_t>& values) : levels_{values} {
    for (std::size_t width = 1; 2 * width <= values.size(); width *= 2) {
      const auto& below = levels_.back();
      std::vector<std::int64_t> level(values.size() - 2 * width + 1);
      for (std::size_t i = 0; i < level.size(); ++i)
        level[i] = std::min(below[i], below[i + width]);
      levels_.push_back(std::move(level));
    }
  }
  // Precondition: the range is not empty.
  std::int64_t operator()(LiveInterval range) const {
    const std::uint32_t length = range.end - range.begin;
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= length)
      ++level;
    return std::min(levels_[level][range.begin],
                    levels_[level][range.end - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<std::int64_t>> levels_;
};

// Subtracts the bytes that all strategies of a node hold from the strategies and the limits. Drops
// segments in which all strategies hold the same.
void take_off_common(ReductionGraph& graph) {
  std::vector<std::int64_t> change(graph.limits.size() + 1, 0);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (!node.alive) continue;
    graph.normalize(i);
    for (Segment& segment : node.segments) {
      const std::int64_t least = *std::min_element(segment.bytes.begin(), segment.bytes.end());
      change[segment.live.begin] += least;
      change[segment.live.end] -= least;
      for (std::int64_t& bytes : segment.bytes)
        bytes -= least;
    }
    std::erase_if(node.segments, [](const Segment& segment) {
      return std::all_of(segment.bytes.begin(), segment.bytes.end(),
                         [](std::int64_t bytes) { return bytes == 0; });
    });
  }
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < graph.limits.size(); ++t) {
    sum += change[t];
    graph.limits[t] -= sum;
    graph.infeasible = graph.infeasible || graph.limits[t] < 0;
  }
}

// Removes strategies that alone hold more than a limit at some time point. Preconditions: the least
// bytes of every segment are 0, and no limit is negative.
void remove_too_large(ReductionGraph& graph) {
  const RangeMinimum room(graph.limits);
  std::vector<char> kept;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!node.alive || node.segments.empty()) continue;
    kept.assign(node.size(), 1);
    bool all = true;
    for (const Segment& segment : node.segments) {
      const std::int64_t most = room(segment.live);
      for (std::uint32_t s = 0; s < node.size(); ++s) {
        if (segment.bytes[s] > most) kept[s] = 0;
        all = all && kept[s] != 0;
      }
    }
    if (!all) graph.keep(i, kept);
    if (graph.infeasible) return;
  }
}

// Returns, by time point, 1 if its limit can bind: the sum of the nodes' largest bytes exceeds the
// limit, and the limit of no kept neighbouring time point implies it.
std::vector<char> binding(const ReductionGraph& graph) {
  const std::size_t size = graph.limits.size();
  std::vector<std::int64_t> change(size + 1, 0);
  std::vector<std::uint32_t> begins(size + 1, 0);
  std::vector<std::uint32_t> ends(size + 1, 0);
  for (const Node& node : graph.nodes) {
    if (!node.alive) continue;
    for (const Segment& segment : node.segments) {
      const std::int64_t most = *std::max_element(segment.bytes.begin(), segment.bytes.end());
      change[segment.live.begin] += most;
      change[segment.live.end] -= most;
      ++begins[segment.live.begin];
      ++ends[segment.live.end];
    }
  }
  std::vector<char> binds(size, 0);
  std::int64_t peak = 0;
  for (std::size_t t = 0; t < size; ++t) {
    peak += change[t];
    binds[t] = peak > graph.limits[t] ? 1 : 0;
  }
  // Drops one of two neighbouring time points if its segments are a subset of the segments at the
  // other, and its limit is not lower. `last` is the last time point kept. The segments that began
  // or ended since `last` tell which set is the subset.
  std::size_t last = size;
  std::uint32_t began = 0;
  std::uint32_t ended = 0;
  for (std::size_t t = 0; t < size; ++t) {
    began += begins[t];
    ended += ends[t];
    if (binds[t] == 0) continue;
    if (last < size && ended == 0 && graph.limits[last] >= graph.limits[t]) {
      binds[last] = 0;
    } else if (last < size && began == 0 && graph.limits[t] >= graph.limits[last]) {
      binds[t] = 0;
      continue;
    }
    last = t;
    began = ended = 0;
  }
  return binds;
}

void keep_time_points(ReductionGraph& graph, const std::vector<char>& kept) {
  std::vector<std::uint32_t> before(kept.size() + 1, 0);
  for (std::size_t t = 0; t < kept.size(); ++t)
    before[t + 1] = before[t] + (kept[t] != 0 ? 1 : 0);
  for (std::size_t t = 0; t < kept.size(); ++t) {
    graph.limits[before[t]] = graph.limits[t];
    graph.times[before[t]] = graph.times[t];
  }
  graph.limits.resize(before.back());
  graph.times.resize(before.back());
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (!node.alive || node.segments.empty()) continue;
    for (Segment& segment : node.segments) {
      segment.live = {before[segment.live.begin], before[segment.live.end]};
    }
    if (std::erase_if(node.segments, [](const Segment& s) { return s.live.empty(); }) > 0) {
      graph.touch(i);
    }
  }
}

// Subtracts the bytes common to all strategies of a node from the limits. Removes strategies that
// hold too much, and time points whose limit cannot be exceeded or follows from a neighbour's.
void reduce_memory(ReductionGraph& graph) {
  take_off_common(graph);
  if (graph.infeasible || graph.limits.empty()) return;
  remove_too_large(graph);
  if (graph.infeasible) return;
  const std::vector<char> kept = binding(graph);
  if (std::find(kept.begin(), kept.end(), char{0}) != kept.end()) keep_time_points(graph, kept);
}

using Side = ReductionGraph::Side;

// One call of reduce(). Thread safety: one thread at a time.
class Reducer {
 public:
  Reducer(const CostInstance& instance, const Budget& budget, std::span<const char> kept,
          const ReduceParameters& parameters)
      : graph_(instance), budget_(&budget), parameters_(parameters) {
    for (std::uint32_t node = 0; !kept.empty() && node < graph_.nodes.size(); ++node) {
      const auto own = kept.first(graph_.nodes[node].size());
      kept = kept.subspan(own.size());
      if (std::find(own.begin(), own.end(), char{0}) != own.end()) graph_.keep(node, own);
    }
  }

  ReductionGraph run() {
    // Before each round of the expensive rules, applies the cheap rules until nothing changes.
    for (bool changed = true; changed && !stopped();) {
      settle();
      if (stopped()) break;
      const std::size_t eliminated = graph_.eliminations.size();
      if (parameters_.reduces_memory) reduce_memory(graph_);
      settle();
      changed = graph_.eliminations.size() > eliminated;
      if (parameters_.removes_dominated) changed = remove_dominated() || changed;
    }
    // The nodes fixed last may have made a limit negative.
    graph_.infeasible =
        graph_.infeasible || std::any_of(graph_.limits.begin(), graph_.limits.end(),
                                         [](std::int64_t limit) { return limit < 0; });
    return std::move(graph_);
  }

 private:
  bool stopped() const { return graph_.infeasible || budget_->interrupted(); }

  void settle() {
    std::uint32_t node = 0;
    while (!stopped() && graph_.next(node))
      look_at(node);
  }

  void look_at(std::uint32_t node) {
    if (remove_without_partner(node)) return;
    if (graph_.nodes[node].size() == 1) return graph_.fix(node);
    if (parameters_.splits_separable_edges && split_separable_edges(node)) return;
    if (parameters_.merges_functional && merge_functional(node)) return;
    if (parameters_.eliminates_nodes) eliminate(node);
  }

  // Removes strategies that are forbidden or have no allowed partner across some edge.
  bool remove_without_partner(std::uint32_t node) {
    const Node& n = graph_.nodes[node];
    kept_.assign(n.size(), 1);
    bool all = true;
    for (std::uint32_t s = 0; s < n.size(); ++s)
      kept_[s] = n.costs[s] < kForbidden ? 1 : 0;
    for (const std::uint32_t edge : n.edges) {
      const Side side = graph_.side(edge, node);
      for (std::uint32_t s = 0; s < n.size(); ++s) {
        if (kept_[s] == 0) continue;
        std::uint32_t k = 0;
        while (k < side.other_size && !(side.at(s, k) < kForbidden))
          ++k;
        if (k == side.other_size) kept_[s] = 0;
      }
    }
    for (const char kept : kept_)
      all = all && kept != 0;
    if (!all) graph_.keep(node, kept_);
    return !all;
  }

  // An edge is separable if every entry is a row term plus a column term. Moves the terms of the
  // first separable edge to the two nodes and removes the edge. Returns false if there is none.
  bool split_separable_edges(std::uint32_t node) {
    for (const std::uint32_t edge : graph_.nodes[node].edges) {
      const Side side = graph_.side(edge, node);
      if (!is_separable(side, graph_.nodes[node].size())) continue;
      Node& n = graph_.nodes[node];
      Node& other = graph_.nodes[side.other];
      const double corner = side.at(0, 0);
      for (std::uint32_t s = 0; s < n.size(); ++s)
        n.costs[s] += side.at(s, 0);
      for (std::uint32_t k = 0; k < other.size(); ++k)
        other.costs[k] += side.at(0, k) - corner;
      make_non_negative(other);
      graph_.remove_edge(edge);
      return true;
    }
    return false;
  }

  void make_non_negative(Node& node) {
    const double least = *std::min_element(node.costs.begin(), node.costs.end());
    if (least >= 0) return;
    for (double& cost : node.costs)
      cost -= least;
    graph_.constant += least;
  }

  static bool is_separable(const Side& side, std::uint32_t size) {
    const double corner = side.at(0, 0);
    for (std::uint32_t s = 0; s < size; ++s) {
      for (std::uint32_t k = 0; k < side.other_size; ++k) {
        const double cost = side.at(s, k);
        if (!(cost < kForbidden)) return false;
        if (cost - side.at(s, 0) != side.at(0, k) - corner) return false;
      }
    }
    return true;
  }

  // Finds a neighbour whose strategy is a function of this node's strategy, or the other way round,
  // and merges the dependent node into the other, unless matrices would become much larger.
  bool merge_functional(std::uint32_t node) {
    for (const std::uint32_t edge : graph_.nodes[node].edges) {
      const std::uint32_t other = graph_.side(edge, node).other;
      if (try_merge(edge, other, node) || try_merge(edge, node, other)) return true;
    }
    return false;
  }

  bool try_merge(std::uint32_t edge, std::uint32_t node, std::uint32_t into) {
    const Side side = graph_.side(edge, into);
    const std::uint32_t size = graph_.nodes[into].size();
    partner_.assign(size, 0);
    for (std::uint32_t s = 0; s < size; ++s) {
      std::uint32_t partners = 0;
      for (std::uint32_t k = 0; k < side.other_size && partners < 2; ++k) {
        if (!(side.at(s, k) < kForbidden)) continue;
        partner_[s] = k;
        ++partners;
      }
      if (partners != 1) return false;
    }
    std::size_t entries = 0;
    for (const std::uint32_t e : graph_.nodes[node].edges) {
      entries += std::size_t{size} * graph_.side(e, node).other_size;
    }
    if (size > graph_.nodes[node].size() && entries > parameters_.most_merged_entries) return false;
    graph_.merge(node, into, partner_);
    return true;
  }

  void eliminate(std::uint32_t node) {
    const Node& n = graph_.nodes[node];
    if (!n.segments.empty() || n.edges.size() > 2) return;
    if (n.edges.size() == 2) {
      // The new edge must be small, or not much larger than the edges that it replaces.
      const std::size_t a = graph_.side(n.edges[0], node).other_size;
      const std::size_t b = graph_.side(n.edges[1], node).other_size;
      const std::size_t replaced = n.size() * (a + b);
      if (a * b > parameters_.most_fill && a * b > parameters_.fill_growth * replaced) return;
    }
    graph_.eliminate(node);
  }

  bool remove_dominated() {
    bool changed = false;
    for (std::uint32_t node = 0; node < graph_.nodes.size() && !stopped(); ++node) {
      if (graph_.nodes[node].alive && graph_.nodes[node].size() > 1) {
        changed = dominance_.remove_dominated(graph_, node) || changed;
      }
    }
    return changed;
  }

  ReductionGraph graph_;
  const Budget* budget_;
  const ReduceParameters& parameters_;
  std::vector<char> kept_;
  std::vector<std::uint32_t> partner_;
  Dominance dominance_;
};

// Makes the core from the remaining nodes, edges and time points.
void extract_core(ReductionGraph& graph, Reduction& reduction) {
  CostInstanceSpec spec;
  std::vector<std::uint32_t> core_of(graph.nodes.size(), Reduction::Elimination::kNone);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (!node.alive) continue;
    core_of[i] = static_cast<std::uint32_t>(reduction.core_nodes.size());
    for (Segment& segment : node.segments) {
      spec.usages.push_back({core_of[i], segment.live, std::move(segment.bytes)});
    }
    spec.nodes.push_back({"", std::move(node.costs)});
    reduction.core_nodes.push_back(i);
    reduction.origins.push_back(std::move(node.origins));
  }
  for (ReductionGraph::Edge& edge : graph.edges) {
    if (!edge.alive) continue;
    const auto rows = static_cast<std::uint32_t>(spec.nodes[core_of[edge.first]].costs.size());
    const auto columns = static_cast<std::uint32_t>(spec.nodes[core_of[edge.second]].costs.size());
    spec.edges.push_back({core_of[edge.first], core_of[edge.second],
                          static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back({rows, columns, std::move(edge.costs)});
  }
  spec.limits = graph.limits;
  reduction.times = graph.times;
  auto core = CostInstance::make(std::move(spec));
  SHARDWRIGHT_CHECK(core.ok());
  reduction.core = std::make_unique<const CostInstance>(std::move(core).value());
}

}  // namespace

Reduction reduce(const CostInstance& instance, const Budget& budget, std::span<const char> kept,
                 const ReduceParameters& parameters) {
  ReductionGraph graph = Reducer(instance, budget, kept, parameters).run();
  Reduction reduction;
  reduction.num_original_nodes = instance.num_nodes();
  reduction.infeasible = graph.infeasible;
  reduction.constant = graph.constant;
  reduction.eliminations = std::move(graph.eliminations);
  if (!reduction.infeasible) extract_core(graph, reduction);
  return reduction;
}

std::vector<std::uint32_t> Reduction::expand(std::span<const std::uint32_t> core_choice) const {
  std::vector<std::uint32_t> choice(num_original_nodes, 0);
  for (std::size_t i = 0; i < core_nodes.size(); ++i) {
    choice[core_nodes[i]] = origins[i][core_choice[i]];
  }
  for (auto it = eliminations.rbegin(); it != eliminations.rend(); ++it) {
    std::size_t at = 0;
    if (it->first != Elimination::kNone) at = choice[it->first];
    if (it->second != Elimination::kNone) at = at * it->columns + choice[it->second];
    choice[it->node] = it->best[at];
  }
  return choice;
}

}  // namespace shardwright::operators
