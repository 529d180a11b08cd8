#include "search/operators/solve/reduce/reduction_graph.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shardwright::operators {

ReductionGraph::ReductionGraph(const CostInstance& instance)
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

ReductionGraph::Side ReductionGraph::side(std::uint32_t edge, std::uint32_t node) const {
  const Edge& e = edges[edge];
  const std::uint32_t columns = nodes[e.second].size();
  if (e.first == node) return {e.costs.data(), columns, 1, e.second, columns};
  return {e.costs.data(), 1, columns, e.first, nodes[e.first].size()};
}

void ReductionGraph::touch(std::uint32_t node) {
  if (nodes[node].queued) return;
  nodes[node].queued = true;
  queue_.push_back(node);
}

bool ReductionGraph::next(std::uint32_t& node) {
  while (!queue_.empty()) {
    node = queue_.back();
    queue_.pop_back();
    nodes[node].queued = false;
    if (nodes[node].alive) return true;
  }
  return false;
}

namespace {

template <class T>
void compact(std::vector<T>& values, std::span<const char> kept) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < values.size(); ++from) {
    if (kept[from] != 0) values[to++] = std::move(values[from]);
  }
  values.resize(to);
}

}  // namespace

void ReductionGraph::keep(std::uint32_t node, std::span<const char> kept) {
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

void ReductionGraph::add_edge(std::uint32_t first, std::uint32_t second,
                              std::vector<double> costs) {
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

void ReductionGraph::remove_edge(std::uint32_t edge) {
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

void ReductionGraph::detach(std::uint32_t node) {
  while (!nodes[node].edges.empty())
    remove_edge(nodes[node].edges.back());
  nodes[node].alive = false;
  nodes[node].segments.clear();
}

// `best[s]` is the strategy of `node` that goes with strategy s of the neighbour.
void ReductionGraph::record(std::uint32_t node, std::uint32_t neighbour,
                            std::span<const std::uint32_t> best) {
  Reduction::Elimination elimination;
  elimination.node = node;
  elimination.first = neighbour;
  elimination.best.assign(original_size_[neighbour], 0);
  for (std::uint32_t s = 0; s < best.size(); ++s) {
    elimination.best[nodes[neighbour].origins[s]] = nodes[node].origins[best[s]];
  }
  eliminations.push_back(std::move(elimination));
}

void ReductionGraph::fix(std::uint32_t node) {
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

void ReductionGraph::eliminate(std::uint32_t node) {
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

void ReductionGraph::merge(std::uint32_t node, std::uint32_t into,
                           std::span<const std::uint32_t> partner) {
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

void ReductionGraph::normalize(std::uint32_t node) {
  Node& n = nodes[node];
  if (!n.overlaps) return;
  n.overlaps = false;
  make_disjoint(n.segments, n.size());
}

}  // namespace shardwright::operators
