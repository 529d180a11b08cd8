#include "search/operators/solve/reduce/reduce_memory.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardwright::operators {
namespace {

using Node = ReductionGraph::Node;

// Minimum over ranges of a fixed sequence, O(1) each. Thread safety: const members.
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
  // Precondition: not empty.
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

// Subtracts what all strategies of a node hold from the limits, and drops segments in which all
// hold the same.
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

// Preconditions: some strategy of every node holds nothing at any time point, and no limit is
// negative.
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

// Which time points matter: the sum of the largest holdings exceeds the limit, and no neighbour
// holds at least as much under at most the same limit.
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
  // Of two neighbours, the one that holds a subset of the other is dropped, unless its limit is
  // lower. `last` is the last one kept; what began or ended since decides which holds more.
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

}  // namespace

void reduce_memory(ReductionGraph& graph) {
  take_off_common(graph);
  if (graph.infeasible || graph.limits.empty()) return;
  remove_too_large(graph);
  if (graph.infeasible) return;
  const std::vector<char> kept = binding(graph);
  if (std::find(kept.begin(), kept.end(), char{0}) != kept.end()) keep_time_points(graph, kept);
}

}  // namespace shardwright::operators
