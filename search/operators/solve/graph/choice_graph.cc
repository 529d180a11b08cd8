#include "search/operators/solve/graph/choice_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace shardwright::operators {
namespace {

std::vector<double> transposed(std::span<const double> entries, std::size_t rows,
                               std::size_t columns) {
  std::vector<double> result(entries.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      result[j * rows + i] = entries[i * columns + j];
  }
  return result;
}

// Which time points to keep. While no usage ends, the bytes held grow, so the last of equally
// limited time points decides.
std::vector<std::uint32_t> decisive_times(const CostInstance& instance) {
  const std::span<const std::int64_t> limits = instance.limits();
  std::vector<std::int64_t> change(limits.size() + 1, 0);
  std::vector<std::uint8_t> ends(limits.size() + 1, 0);
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    for (const CostInstance::Usage& usage : instance.usages(n)) {
      std::int64_t largest = 0;
      for (std::uint32_t s = 0; s < instance.num_strategies(n); ++s) {
        largest = std::max(largest, instance.bytes(usage, s));
      }
      change[usage.live.begin] += largest;
      change[usage.live.end] -= largest;
      if (largest > 0) ends[usage.live.end] = 1;
    }
  }
  std::vector<std::uint32_t> kept;
  std::int64_t held = 0;
  for (std::uint32_t t = 0; t < limits.size(); ++t) {
    held += change[t];
    if (held <= limits[t]) continue;
    const bool replaces = !kept.empty() && limits[kept.back()] >= limits[t] &&
                          std::none_of(ends.begin() + kept.back() + 1, ends.begin() + t + 1,
                                       [](std::uint8_t end) { return end != 0; });
    if (replaces) {
      kept.back() = t;
    } else {
      kept.push_back(t);
    }
  }
  return kept;
}

std::pair<std::uint32_t, std::uint32_t> ends_of(const CostInstance::Edge& edge) {
  return std::minmax(edge.first, edge.second);
}

// The numbers of the edges, those between the same two nodes next to each other.
std::vector<std::uint32_t> order_by_ends(std::span<const CostInstance::Edge> edges) {
  std::vector<std::uint32_t> order(edges.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return ends_of(edges[a]) < ends_of(edges[b]);
  });
  return order;
}

}  // namespace

ChoiceGraph::ChoiceGraph(const CostInstance& instance) {
  const std::size_t num_nodes = instance.num_nodes();
  first_strategy_.reserve(num_nodes + 1);
  first_strategy_.push_back(0);
  costs_.reserve(instance.num_strategies());
  for (std::size_t n = 0; n < num_nodes; ++n) {
    const std::span<const double> costs = instance.costs(n);
    costs_.insert(costs_.end(), costs.begin(), costs.end());
    first_strategy_.push_back(static_cast<std::uint32_t>(costs_.size()));
  }
  add_arcs(instance);
  add_usages(instance);
}

void ChoiceGraph::add_arcs(const CostInstance& instance) {
  struct Pair {
    std::uint32_t first, second;
    const double* by_first;   // rows by the strategies of the first, over those of the second
    const double* by_second;  // the transpose
  };
  const std::span<const CostInstance::Edge> edges = instance.edges();
  const std::vector<std::uint32_t> order = order_by_ends(edges);
  std::vector<const double*> transposes(instance.num_matrices(), nullptr);
  const auto transpose = [&](const CostInstance::Edge& edge) {
    const double*& result = transposes[edge.matrix];
    if (result == nullptr) {
      matrices_.push_back(transposed(instance.matrix(edge), instance.num_strategies(edge.first),
                                     instance.num_strategies(edge.second)));
      result = matrices_.back().data();
    }
    return result;
  };
  std::vector<Pair> pairs;
  first_arc_.assign(num_nodes() + 1, 0);
  for (std::size_t i = 0; i < order.size();) {
    std::size_t next = i + 1;
    while (next < order.size() && ends_of(edges[order[next]]) == ends_of(edges[order[i]]))
      ++next;
    const CostInstance::Edge& edge = edges[order[i]];
    Pair pair{edge.first, edge.second, instance.matrix(edge).data(), nullptr};
    if (next == i + 1) {
      pair.by_second = transpose(edge);
    } else {
      const std::uint32_t rows = num_strategies(pair.first), columns = num_strategies(pair.second);
      std::vector<double> sum(std::size_t{rows} * columns, 0.0);
      for (; i < next; ++i) {
        const CostInstance::Edge& parallel = edges[order[i]];
        const double* entries =
            parallel.first == pair.first ? instance.matrix(parallel).data() : transpose(parallel);
        for (std::size_t j = 0; j < sum.size(); ++j)
          sum[j] += entries[j];
      }
      matrices_.push_back(transposed(sum, rows, columns));
      pair.by_second = matrices_.back().data();
      matrices_.push_back(std::move(sum));
      pair.by_first = matrices_.back().data();
    }
    i = next;
    ++first_arc_[pair.first + 1];
    ++first_arc_[pair.second + 1];
    pairs.push_back(pair);
  }
  std::partial_sum(first_arc_.begin(), first_arc_.end(), first_arc_.begin());
  std::vector<std::uint32_t> place(first_arc_.begin(), first_arc_.end() - 1);
  arcs_.resize(2 * pairs.size());
  for (const Pair& pair : pairs) {
    arcs_[place[pair.first]++] = {pair.second, pair.by_second};
    arcs_[place[pair.second]++] = {pair.first, pair.by_first};
  }
}

void ChoiceGraph::add_usages(const CostInstance& instance) {
  const std::vector<std::uint32_t> times = decisive_times(instance);
  times_ = times;
  for (const std::uint32_t t : times)
    limits_.push_back(instance.limits()[t]);
  // Kept time points before each time point.
  std::vector<std::uint32_t> before(instance.limits().size() + 1, 0);
  for (const std::uint32_t t : times)
    before[t + 1] = 1;
  std::partial_sum(before.begin(), before.end(), before.begin());

  std::vector<std::int64_t> bytes;
  first_usage_.push_back(0);
  for (std::size_t n = 0; n < num_nodes(); ++n) {
    bool depends = false;
    for (const CostInstance::Usage& usage : instance.usages(n)) {
      const std::uint32_t begin = before[usage.live.begin], end = before[usage.live.end];
      if (begin >= end) continue;
      bytes.clear();
      for (std::uint32_t s = 0; s < num_strategies(n); ++s) {
        bytes.push_back(instance.bytes(usage, s));
      }
      const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
      if (*most == 0) continue;
      depends = depends || *least != *most;
      usages_.push_back({begin, end, bytes_.size()});
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    if (depends) holders_.push_back(static_cast<std::uint32_t>(n));
    first_usage_.push_back(static_cast<std::uint32_t>(usages_.size()));
  }
}

std::vector<double> ChoiceGraph::at_kept_times(std::span<const double> by_time) const {
  std::vector<double> result(times_.size(), 0.0);
  std::size_t kept = 0;
  for (std::size_t t = 0; t < by_time.size(); ++t) {
    while (kept < times_.size() && times_[kept] < t)
      ++kept;
    if (kept < times_.size()) result[kept] += by_time[t];
  }
  return result;
}

}  // namespace shardwright::operators
