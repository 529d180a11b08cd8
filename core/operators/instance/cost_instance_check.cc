#include "core/operators/instance/cost_instance_check.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json_pointer.h"

namespace shardwright::operators {
namespace {

using Spec = CostInstanceSpec;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

__extension__ using WideBytes = __int128;

std::string inner_place(const char* list, std::size_t index, const char* key, std::size_t inner) {
  return entry_place(list, index) + "/" + key + "/" + std::to_string(inner);
}

// The index of the first entry that is negative or NaN.
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

// The most bytes that any strategy holds.
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

}  // namespace

LiveInterval limited(LiveInterval live, std::size_t num_limits) {
  const auto last = static_cast<std::uint32_t>(num_limits);
  return {std::min(live.begin, last), std::min(live.end, last)};
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

}  // namespace shardwright::operators
