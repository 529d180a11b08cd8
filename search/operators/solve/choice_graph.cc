#include "search/operators/solve/choice_graph.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

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

// Returns the time points to keep. Until a usage ends, the bytes held can only grow. So of the time
// points before that with equal limits, only the last one matters.
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

// Returns the indices of the edges, sorted so that parallel edges are adjacent.
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
    const double* by_first;   // rows by strategies of the first node, columns of the second
    const double* by_second;  // rows by strategies of the second node
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
  // By time point: the number of kept time points before it.
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

ConsistentDomains::ConsistentDomains(const ChoiceGraph& graph)
    : graph_(graph),
      alive_(graph.num_strategies(), 1),
      left_(graph.num_nodes()),
      queued_(graph.num_nodes(), 0) {
  first_arc_.push_back(0);
  for (std::uint32_t n = 0; n < graph.num_nodes(); ++n) {
    left_[n] = graph.num_strategies(n);
    for (const ChoiceGraph::Arc& arc : graph.arcs(n)) {
      const std::size_t size =
          std::size_t{graph.num_strategies(n)} * graph.num_strategies(arc.node);
      restrictive_.push_back(
          std::find(arc.rows, arc.rows + size, kForbidden) != arc.rows + size ? 1 : 0);
    }
    first_arc_.push_back(restrictive_.size());
  }
}

// Returns false if some node has no strategy left.
bool ConsistentDomains::make_consistent() {
  for (std::uint32_t n = 0; n < graph_.num_nodes(); ++n) {
    const auto costs = graph_.costs(n);
    for (std::uint32_t s = 0; s < costs.size(); ++s) {
      if (costs[s] == kForbidden) remove(n, s);
    }
    if (left_[n] == 0) return false;
    enqueue(n);
  }
  return propagate();
}

bool ConsistentDomains::assign(std::uint32_t n, std::uint32_t strategy) {
  for (std::uint32_t s = 0; s < graph_.num_strategies(n); ++s) {
    if (s != strategy && alive(n, s)) remove(n, s);
  }
  enqueue(n);
  return propagate();
}

void ConsistentDomains::undo_to(std::size_t size) {
  for (; removals_.size() > size; removals_.pop_back()) {
    const Removal& removal = removals_.back();
    alive_[graph_.first_strategy(removal.node) + removal.strategy] = 1;
    ++left_[removal.node];
  }
}

void ConsistentDomains::remove(std::uint32_t n, std::uint32_t s) {
  alive_[graph_.first_strategy(n) + s] = 0;
  --left_[n];
  removals_.push_back({n, s});
}

void ConsistentDomains::enqueue(std::uint32_t n) {
  if (queued_[n] != 0) return;
  queued_[n] = 1;
  queue_.push_back(n);
}

// Removes strategies of the neighbour that all remaining strategies of the node forbid.
bool ConsistentDomains::revise(std::uint32_t n, const ChoiceGraph::Arc& arc) {
  const std::uint32_t m = arc.node, size = graph_.num_strategies(n);
  const std::uint8_t* own = alive_.data() + graph_.first_strategy(n);
  std::uint32_t single = 0;
  if (left_[n] == 1) {
    single = static_cast<std::uint32_t>(std::find(own, own + size, 1) - own);
  }
  bool changed = false;
  for (std::uint32_t t = 0; t < graph_.num_strategies(m); ++t) {
    if (!alive(m, t)) continue;
    const double* row = graph_.row(n, arc, t);
    bool supported = false;
    if (left_[n] == 1) {
      supported = row[single] < kForbidden;
      ++work_;
    } else {
      std::uint32_t s = 0;
      while (s < size && !(own[s] != 0 && row[s] < kForbidden))
        ++s;
      supported = s < size;
      work_ += s + 1;
    }
    if (!supported) {
      remove(m, t);
      changed = true;
    }
  }
  return changed;
}

bool ConsistentDomains::propagate() {
  bool consistent = true;
  std::size_t head = 0;
  while (head < queue_.size()) {  // the queue grows inside
    const std::uint32_t n = queue_[head++];
    queued_[n] = 0;
    if (!consistent) continue;
    const auto arcs = graph_.arcs(n);
    for (std::size_t a = 0; a < arcs.size() && consistent; ++a) {
      if (restrictive_[first_arc_[n] + a] == 0 || left_[arcs[a].node] == 0) continue;
      if (revise(n, arcs[a])) {
        consistent = left_[arcs[a].node] > 0;
        enqueue(arcs[a].node);
      }
    }
  }
  queue_.clear();
  return consistent;
}

UsageProfile::UsageProfile(std::span<const std::int64_t> limits)
    : num_times_(limits.size()),
      leaves_(std::bit_ceil(limits.size() + 2)),
      largest_(2 * leaves_, kNothing),
      added_(2 * leaves_, 0) {
  for (std::size_t t = 0; t < limits.size(); ++t)
    largest_[leaves_ + t + 1] = -limits[t];
  for (std::size_t i = leaves_ - 1; i > 0; --i)
    refresh(i);
}

void UsageProfile::refresh(std::size_t i) {
  largest_[i] = std::max(largest_[2 * i], largest_[2 * i + 1]) + added_[i];
}

void UsageProfile::add(std::size_t begin, std::size_t end, std::int64_t bytes) {
  if (bytes == 0) return;
  const auto raise = [&](std::size_t i) {
    largest_[i] += bytes;
    added_[i] += bytes;
  };
  // The vertices on the left and right of the range that remains.
  std::size_t left = begin + leaves_, right = end + leaves_ + 1;
  while ((left ^ right) != 1) {
    if ((left & 1) == 0) raise(left + 1);
    if ((right & 1) == 1) raise(right - 1);
    left /= 2;
    right /= 2;
    refresh(left);
    refresh(right);
  }
  while ((left /= 2) > 0)
    refresh(left);
}

std::int64_t UsageProfile::max_excess(std::size_t begin, std::size_t end) const {
  std::int64_t from_left = kNothing, from_right = kNothing;
  std::size_t left = begin + leaves_, right = end + leaves_ + 1;
  while ((left ^ right) != 1) {
    if ((left & 1) == 0) from_left = std::max(from_left, largest_[left + 1]);
    if ((right & 1) == 1) from_right = std::max(from_right, largest_[right - 1]);
    left /= 2;
    right /= 2;
    from_left += added_[left];
    from_right += added_[right];
  }
  std::int64_t largest = std::max(from_left, from_right);
  while ((left /= 2) > 0)
    largest += added_[left];
  return largest;
}

std::size_t UsageProfile::most_exceeded(std::size_t begin, std::size_t end) const {
  const std::int64_t largest = max_excess(begin, end);
  // Descends to the first time point that has the maximum.
  while (end - begin > 1) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (max_excess(begin, middle) == largest) {
      end = middle;
    } else {
      begin = middle;
    }
  }
  return begin;
}

SearchState::SearchState(const ChoiceGraph& g)
    : graph(g),
      choice(g.num_nodes(), 0),
      profile(g.limits()),
      prices(g.limits().size(), 0.0),
      priced(g.num_strategies()) {
  update_priced();
}

void SearchState::set_choice(std::span<const std::uint32_t> new_choice) {
  choice.assign(new_choice.begin(), new_choice.end());
  profile = UsageProfile(graph.limits());
  for (std::size_t n = 0; n < choice.size(); ++n) {
    for (const ChoiceGraph::Usage& usage : graph.usages(n)) {
      profile.add(usage.begin, usage.end, graph.bytes(usage)[choice[n]]);
    }
  }
}

void SearchState::change(std::uint32_t node, std::uint32_t strategy) {
  for (const ChoiceGraph::Usage& usage : graph.usages(node)) {
    const std::int64_t* bytes = graph.bytes(usage);
    profile.add(usage.begin, usage.end, bytes[strategy] - bytes[choice[node]]);
  }
  choice[node] = strategy;
}

void SearchState::update_priced() {
  std::vector<double> before(prices.size() + 1, 0.0);
  for (std::size_t t = 0; t < prices.size(); ++t)
    before[t + 1] = before[t] + prices[t];
  for (std::size_t n = 0; n < graph.num_nodes(); ++n) {
    double* column = priced.data() + graph.first_strategy(n);
    const std::span<const double> costs = graph.costs(n);
    std::copy(costs.begin(), costs.end(), column);
    for (const ChoiceGraph::Usage& usage : graph.usages(n)) {
      const double price = before[usage.end] - before[usage.begin];
      if (price <= 0) continue;
      const std::int64_t* bytes = graph.bytes(usage);
      for (std::size_t s = 0; s < costs.size(); ++s) {
        column[s] += price * static_cast<double>(bytes[s]);
      }
    }
  }
}

std::vector<std::int64_t> SearchState::excess() const {
  const auto limits = graph.limits();
  std::vector<std::int64_t> result(limits.size() + 1, 0);
  for (std::size_t n = 0; n < graph.num_nodes(); ++n) {
    for (const ChoiceGraph::Usage& usage : graph.usages(n)) {
      const std::int64_t bytes = graph.bytes(usage)[choice[n]];
      result[usage.begin] += bytes;
      result[usage.end] -= bytes;
    }
  }
  result.pop_back();
  std::partial_sum(result.begin(), result.end(), result.begin());
  for (std::size_t t = 0; t < limits.size(); ++t)
    result[t] -= limits[t];
  return result;
}

}  // namespace shardwright::operators
