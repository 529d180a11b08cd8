#include "core/operators/instance/cost_instance.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/json_pointer.h"
#include "core/status.h"

namespace shardwright::operators {
namespace {

// Returns the part of an interval that has limits.
LiveInterval limited(LiveInterval live, std::size_t num_limits) {
  const auto last = static_cast<std::uint32_t>(num_limits);
  return {std::min(live.begin, last), std::min(live.end, last)};
}

// Errors: those of CostInstance::make.
Status check(const CostInstanceSpec& spec);

using Spec = CostInstanceSpec;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

__extension__ using WideBytes = __int128;

std::string inner_place(const char* list, std::size_t index, const char* key, std::size_t inner) {
  return entry_place(list, index) + "/" + key + "/" + std::to_string(inner);
}

// Returns the index of the first entry that is negative or NaN.
std::optional<std::size_t> find_bad_cost(std::span<const double> costs) {
  const auto bad = std::find_if_not(costs.begin(), costs.end(), [](double c) { return c >= 0; });
  if (bad == costs.end()) return std::nullopt;
  return static_cast<std::size_t>(bad - costs.begin());
}

Status check_nodes(const Spec& spec) {
  std::size_t num_strategies = 0;
  for (std::size_t n = 0; n < spec.nodes.size(); ++n) {
    const std::vector<double>& costs = spec.nodes[n].costs;
    if (costs.empty()) return invalid_input(entry_place("nodes", n), "the node has no strategies");
    if (const auto bad = find_bad_cost(costs)) {
      return invalid_input(inner_place("nodes", n, "costs", *bad),
                           "a cost is negative or not a number");
    }
    num_strategies += costs.size();
  }
  if (num_strategies > std::numeric_limits<std::uint32_t>::max()) {
    return invalid_input("/nodes", "there are more than 2^32 strategies");
  }
  return {};
}

Status check_matrices(const Spec& spec) {
  for (std::size_t m = 0; m < spec.matrices.size(); ++m) {
    const Spec::Matrix& matrix = spec.matrices[m];
    if (matrix.entries.size() != std::size_t{matrix.rows} * matrix.columns) {
      return invalid_input(entry_place("matrices", m),
                           "the matrix has " + std::to_string(matrix.entries.size()) +
                               " entries instead of " + std::to_string(matrix.rows) + " x " +
                               std::to_string(matrix.columns));
    }
    if (const auto bad = find_bad_cost(matrix.entries)) {
      return invalid_input(inner_place("matrices", m, "entries", *bad),
                           "a cost is negative or not a number");
    }
  }
  return {};
}

Status check_edges(const Spec& spec) {
  for (std::size_t e = 0; e < spec.edges.size(); ++e) {
    const Spec::Edge& edge = spec.edges[e];
    if (edge.first >= spec.nodes.size() || edge.second >= spec.nodes.size()) {
      return invalid_input(entry_place("edges", e),
                           "the edge refers to a node that does not exist");
    }
    if (edge.first == edge.second) {
      return invalid_input(entry_place("edges", e), "the edge joins a node to itself");
    }
    if (edge.matrix >= spec.matrices.size()) {
      return invalid_input(entry_place("edges", e),
                           "the edge refers to a matrix that does not exist");
    }
    const Spec::Matrix& matrix = spec.matrices[edge.matrix];
    const std::size_t rows = spec.nodes[edge.first].costs.size();
    const std::size_t columns = spec.nodes[edge.second].costs.size();
    if (matrix.rows != rows || matrix.columns != columns) {
      return invalid_input(entry_place("edges", e), "the matrix is " + std::to_string(matrix.rows) +
                                                        " x " + std::to_string(matrix.columns) +
                                                        ", but the nodes have " +
                                                        std::to_string(rows) + " and " +
                                                        std::to_string(columns) + " strategies");
    }
  }
  return {};
}

// Returns the largest number of bytes over all strategies.
std::int64_t largest(const Spec::Usage& usage) {
  return *std::max_element(usage.bytes.begin(), usage.bytes.end());
}

Status check_usages(const Spec& spec) {
  std::size_t num_bytes = 0;
  for (std::size_t u = 0; u < spec.usages.size(); ++u) {
    const Spec::Usage& usage = spec.usages[u];
    if (usage.node >= spec.nodes.size()) {
      return invalid_input(entry_place("usages", u),
                           "the usage refers to a node that does not exist");
    }
    if (usage.bytes.size() != spec.nodes[usage.node].costs.size()) {
      return invalid_input(entry_place("usages", u),
                           "there are bytes for " + std::to_string(usage.bytes.size()) +
                               " strategies, but the node has " +
                               std::to_string(spec.nodes[usage.node].costs.size()));
    }
    if (usage.live.begin > usage.live.end) {
      return invalid_input(entry_place("usages", u), "the interval ends before it begins");
    }
    for (std::size_t s = 0; s < usage.bytes.size(); ++s) {
      if (usage.bytes[s] < 0) {
        return invalid_input(inner_place("usages", u, "bytes", s), "a usage is negative");
      }
    }
    num_bytes += usage.bytes.size();
  }
  if (num_bytes > std::numeric_limits<std::uint32_t>::max()) {
    return invalid_input("/usages", "there are more than 2^32 numbers of bytes");
  }
  return {};
}

Status check_limits(const Spec& spec) {
  if (spec.limits.size() > std::numeric_limits<std::uint32_t>::max()) {
    return invalid_input("/limits", "there are more than 2^32 time points");
  }
  for (std::size_t t = 0; t < spec.limits.size(); ++t) {
    if (spec.limits[t] < 0) return invalid_input(entry_place("limits", t), "a limit is negative");
  }
  return {};
}

// Checks that no choice can hold more than kMaxBytes at a time point with a limit.
Status check_sums(const Spec& spec) {
  std::vector<WideBytes> changes(spec.limits.size() + 1, 0);
  for (const Spec::Usage& usage : spec.usages) {
    const LiveInterval live = limited(usage.live, spec.limits.size());
    if (live.empty()) continue;
    const WideBytes bytes = largest(usage);
    changes[live.begin] += bytes;
    changes[live.end] -= bytes;
  }
  WideBytes held = 0;
  for (std::size_t t = 0; t < spec.limits.size(); ++t) {
    held += changes[t];
    if (held > kMaxBytes) {
      return invalid_input(entry_place("limits", t),
                           "the bytes held here could add up to over 2^62");
    }
  }
  return {};
}

Status check(const Spec& spec) {
  if (spec.nodes.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return invalid_input("/nodes", "there are more than 2^32 nodes");
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_nodes(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_matrices(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_edges(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_limits(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_usages(spec));
  return check_sums(spec);
}

// Returns the begins that are followed by an end before the next begin, ascending.
std::vector<std::int64_t> decisive_times(std::span<const TimeInterval> intervals) {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (const TimeInterval& interval : intervals) {
    if (interval.empty()) continue;
    begins.push_back(interval.begin);
    ends.push_back(interval.end);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<std::int64_t> times;
  std::size_t e = 0;
  for (std::size_t b = 0; b < begins.size(); ++b) {
    while (ends[e] <= begins[b])
      ++e;
    if (b + 1 == begins.size() || ends[e] <= begins[b + 1]) {
      if (times.empty() || times.back() != begins[b]) times.push_back(begins[b]);
    }
  }
  return times;
}

}  // namespace

CompressedIntervals compress(std::span<const TimeInterval> intervals) {
  const std::vector<std::int64_t> times = decisive_times(intervals);
  const auto index_of = [&](std::int64_t time) {
    return static_cast<std::uint32_t>(std::lower_bound(times.begin(), times.end(), time) -
                                      times.begin());
  };
  CompressedIntervals compressed;
  compressed.intervals.reserve(intervals.size());
  for (const TimeInterval& interval : intervals) {
    compressed.intervals.push_back(
        interval.empty() ? LiveInterval{}
                         : LiveInterval{index_of(interval.begin), index_of(interval.end)});
  }
  compressed.num_time_points = static_cast<std::uint32_t>(times.size());
  return compressed;
}

Result<CostInstance> CostInstance::make(CostInstanceSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check(spec));
  CostInstance instance;
  const std::size_t num_nodes = spec.nodes.size();

  instance.first_strategy_.reserve(num_nodes + 1);
  instance.first_strategy_.push_back(0);
  instance.names_.reserve(num_nodes);
  for (CostInstanceSpec::Node& node : spec.nodes) {
    instance.costs_.insert(instance.costs_.end(), node.costs.begin(), node.costs.end());
    instance.first_strategy_.push_back(static_cast<std::uint32_t>(instance.costs_.size()));
    instance.names_.push_back(std::move(node.name));
  }

  instance.edges_.reserve(spec.edges.size());
  for (const CostInstanceSpec::Edge& edge : spec.edges) {
    instance.edges_.push_back({edge.first, edge.second, edge.matrix});
  }
  instance.matrices_ =
      std::make_shared<const std::vector<CostInstanceSpec::Matrix>>(std::move(spec.matrices));

  // Groups usages by node; usages of one node keep their order.
  instance.first_usage_.assign(num_nodes + 1, 0);
  std::size_t num_bytes = 0;
  for (CostInstanceSpec::Usage& usage : spec.usages) {
    usage.live = limited(usage.live, spec.limits.size());
    if (usage.live.empty()) continue;
    ++instance.first_usage_[usage.node + 1];
    num_bytes += usage.bytes.size();
  }
  for (std::size_t n = 0; n < num_nodes; ++n) {
    instance.first_usage_[n + 1] += instance.first_usage_[n];
  }
  std::vector<std::uint32_t> next(instance.first_usage_.begin(), instance.first_usage_.end() - 1);
  instance.usages_.resize(instance.first_usage_.back());
  instance.bytes_.reserve(num_bytes);
  for (const CostInstanceSpec::Usage& usage : spec.usages) {
    if (usage.live.empty()) continue;
    instance.usages_[next[usage.node]++] = {usage.live,
                                            static_cast<std::uint32_t>(instance.bytes_.size())};
    instance.bytes_.insert(instance.bytes_.end(), usage.bytes.begin(), usage.bytes.end());
  }
  instance.limits_ = std::move(spec.limits);
  return instance;
}

CostInstance CostInstance::with_limits(std::vector<std::int64_t> limits) const {
  SHARDWRIGHT_CHECK(limits.size() == limits_.size());
  SHARDWRIGHT_CHECK(
      std::all_of(limits.begin(), limits.end(), [](auto limit) { return limit >= 0; }));
  CostInstance other = *this;
  other.limits_ = std::move(limits);
  return other;
}

std::vector<std::int64_t> held_bytes(const CostInstance& instance,
                                     std::span<const std::uint32_t> choice) {
  std::vector<std::int64_t> held(instance.limits().size() + 1, 0);
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    for (const CostInstance::Usage& usage : instance.usages(n)) {
      const std::int64_t bytes = instance.bytes(usage, choice[n]);
      held[usage.live.begin] += bytes;
      held[usage.live.end] -= bytes;
    }
  }
  held.pop_back();
  for (std::size_t t = 1; t < held.size(); ++t)
    held[t] += held[t - 1];
  return held;
}

CostEvaluation evaluate(const CostInstance& instance, std::span<const std::uint32_t> choice) {
  SHARDWRIGHT_CHECK(choice.size() == instance.num_nodes());
  CostEvaluation evaluation;
  const std::span<const std::int64_t> limits = instance.limits();
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    SHARDWRIGHT_CHECK(choice[n] < instance.num_strategies(n));
    evaluation.node_cost += instance.costs(n)[choice[n]];
  }
  for (const CostInstance::Edge& edge : instance.edges()) {
    evaluation.edge_cost += instance.edge_cost(edge, choice[edge.first], choice[edge.second]);
  }
  const std::vector<std::int64_t> held = held_bytes(instance, choice);
  for (std::size_t t = 0; t < limits.size(); ++t) {
    evaluation.peak_bytes = std::max(evaluation.peak_bytes, held[t]);
    if (held[t] > limits[t] && !evaluation.over_limit_at) {
      evaluation.over_limit_at = static_cast<std::uint32_t>(t);
    }
  }
  return evaluation;
}

namespace {

// Returns, by node, the end of its chain of leaders.
Result<std::vector<std::uint32_t>> resolve(std::span<const std::uint32_t> leaders) {
  std::vector<std::uint32_t> roots(leaders.begin(), leaders.end());
  for (std::size_t n = 0; n < roots.size(); ++n) {
    std::uint32_t root = roots[n];
    for (std::size_t steps = 0; leaders[root] != root; root = leaders[root]) {
      if (++steps > leaders.size()) {
        return invalid_input("/nodes/" + std::to_string(n),
                             "the nodes that it follows form a cycle");
      }
    }
    roots[n] = root;
  }
  return roots;
}

Status check_sizes(const CostInstanceSpec& spec, std::span<const std::uint32_t> roots) {
  for (std::size_t n = 0; n < roots.size(); ++n) {
    const std::size_t own = spec.nodes[n].costs.size();
    const std::size_t leading = spec.nodes[roots[n]].costs.size();
    if (own == leading) continue;
    return invalid_input("/nodes/" + std::to_string(n),
                         "has " + std::to_string(own) + " strategies, but node " +
                             std::to_string(roots[n]) + ", whose strategy it takes, has " +
                             std::to_string(leading));
  }
  return {};
}

// Returns, by node, the number of its root among all roots.
std::vector<std::uint32_t> number_roots(std::span<const std::uint32_t> roots) {
  std::vector<std::uint32_t> numbers(roots.size());
  std::uint32_t next = 0;
  for (std::size_t n = 0; n < roots.size(); ++n) {
    if (roots[n] == n) numbers[n] = next++;
  }
  for (std::size_t n = 0; n < roots.size(); ++n) {
    numbers[n] = numbers[roots[n]];
  }
  return numbers;
}

CostInstanceSpec merge(CostInstanceSpec spec, std::span<const std::uint32_t> roots,
                       std::span<const std::uint32_t> variables) {
  CostInstanceSpec merged;
  for (std::size_t n = 0; n < roots.size(); ++n) {
    if (roots[n] == n) merged.nodes.push_back(std::move(spec.nodes[n]));
  }
  const auto add = [&](std::uint32_t variable, std::size_t s, double cost) {
    merged.nodes[variable].costs[s] += cost;
  };
  for (std::size_t n = 0; n < roots.size(); ++n) {
    if (roots[n] == n) continue;
    for (std::size_t s = 0; s < spec.nodes[n].costs.size(); ++s) {
      add(variables[n], s, spec.nodes[n].costs[s]);
    }
  }
  for (const CostInstanceSpec::Edge& edge : spec.edges) {
    const std::uint32_t first = variables[edge.first];
    const std::uint32_t second = variables[edge.second];
    if (first != second) {
      merged.edges.push_back({first, second, edge.matrix});
      continue;
    }
    const CostInstanceSpec::Matrix& matrix = spec.matrices[edge.matrix];
    for (std::uint32_t s = 0; s < matrix.rows; ++s) {
      add(first, s, matrix.entries[std::size_t{s} * matrix.columns + s]);
    }
  }
  merged.matrices = std::move(spec.matrices);
  merged.usages = std::move(spec.usages);
  for (CostInstanceSpec::Usage& usage : merged.usages)
    usage.node = variables[usage.node];
  merged.limits = std::move(spec.limits);
  return merged;
}

}  // namespace

LoweredInstance::LoweredInstance(CostInstance graph)
    : graph_(std::make_shared<const CostInstance>(std::move(graph))),
      instance_(graph_),
      variables_(graph_->num_nodes()) {
  std::iota(variables_.begin(), variables_.end(), 0U);
}

Result<LoweredInstance> LoweredInstance::make(CostInstance graph, CostInstanceSpec spec,
                                              std::span<const std::uint32_t> leaders) {
  SHARDWRIGHT_CHECK(leaders.size() == spec.nodes.size() && graph.num_nodes() <= leaders.size());
  SHARDWRIGHT_CHECK(
      std::all_of(leaders.begin(), leaders.end(), [&](auto n) { return n < leaders.size(); }));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> roots, resolve(leaders));
  SHARDWRIGHT_RETURN_IF_ERROR(check_sizes(spec, roots));
  LoweredInstance lowered;
  lowered.variables_ = number_roots(roots);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      CostInstance instance, CostInstance::make(merge(std::move(spec), roots, lowered.variables_)));
  lowered.variables_.resize(graph.num_nodes());
  lowered.graph_ = std::make_shared<const CostInstance>(std::move(graph));
  lowered.instance_ = std::make_shared<const CostInstance>(std::move(instance));
  return lowered;
}

std::vector<std::uint32_t> LoweredInstance::operator_choice(
    std::span<const std::uint32_t> choice) const {
  SHARDWRIGHT_CHECK(choice.size() == instance_->num_nodes());
  std::vector<std::uint32_t> by_operator;
  by_operator.reserve(variables_.size());
  for (const std::uint32_t variable : variables_)
    by_operator.push_back(choice[variable]);
  return by_operator;
}

}  // namespace shardwright::operators
