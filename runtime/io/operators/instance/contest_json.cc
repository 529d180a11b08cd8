// Builds a cost instance from the contents of a contest file.
#include "runtime/io/operators/instance/contest_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"
#include "runtime/io/operators/instance/contest_contents.h"

namespace shardwright {
namespace {

using operators::CostInstanceSpec;
using operators::TimeInterval;

std::string problem_place(const char* list, std::size_t i) {
  return std::string("/problem/") + list + "/" + std::to_string(i);
}

// Thread safety: one thread at a time.
class ContestBuilder {
 public:
  ContestBuilder(ContestContents contents, std::optional<std::int64_t> limit)
      : contents_(std::move(contents)), limit_(limit ? limit : contents_.usage_limit) {}

  Result<operators::CostInstance> build() {
    SHARDWRIGHT_RETURN_IF_ERROR(add_nodes());
    contents_.costs = {};
    SHARDWRIGHT_RETURN_IF_ERROR(add_usages());
    contents_.usages = {};
    SHARDWRIGHT_RETURN_IF_ERROR(add_edges());
    contents_ = {};
    Result<operators::CostInstance> instance = operators::CostInstance::make(std::move(spec_));
    if (instance.ok() || !instance.error().where.starts_with("/limits")) return instance;
    return invalid_input("/problem/nodes/usages", instance.error().message);
  }

 private:
  Status add_nodes() {
    const std::size_t num_nodes = contents_.costs.size();
    if (contents_.intervals.size() != num_nodes || contents_.usages.size() != num_nodes) {
      return invalid_input("/problem/nodes",
                           "intervals, costs and usages must have one entry per node, not " +
                               std::to_string(contents_.intervals.size()) + ", " +
                               std::to_string(num_nodes) + " and " +
                               std::to_string(contents_.usages.size()));
    }
    spec_.nodes.resize(num_nodes);
    for (std::size_t n = 0; n < num_nodes; ++n) {
      const std::span<const double> costs = contents_.costs[n];
      if (costs.empty()) {
        return invalid_input(problem_place("nodes/costs", n), "the node has no strategies");
      }
      spec_.nodes[n].costs.assign(costs.begin(), costs.end());
      if (contents_.usages[n].size() != costs.size()) {
        return invalid_input(problem_place("nodes/usages", n),
                             "has " + std::to_string(contents_.usages[n].size()) + " entries for " +
                                 std::to_string(costs.size()) + " strategies");
      }
      if (contents_.intervals[n].size() != 2) {
        return invalid_input(problem_place("nodes/intervals", n), "expected a list [begin, end]");
      }
      if (contents_.intervals[n][0] > contents_.intervals[n][1]) {
        return invalid_input(problem_place("nodes/intervals", n),
                             "the interval ends before it begins");
      }
    }
    return {};
  }

  Status add_usages() {
    if (!limit_) return {};
    std::vector<TimeInterval> intervals(spec_.nodes.size());
    for (std::size_t n = 0; n < intervals.size(); ++n) {
      const std::span<const std::int64_t> usage = contents_.usages[n];
      const bool uses = std::any_of(usage.begin(), usage.end(), [](auto u) { return u > 0; });
      if (uses) intervals[n] = {contents_.intervals[n][0], contents_.intervals[n][1]};
    }
    const operators::CompressedIntervals compressed = operators::compress(intervals);
    const std::int64_t above = *limit_ + (*limit_ < std::numeric_limits<std::int64_t>::max());
    for (std::size_t n = 0; n < intervals.size(); ++n) {
      if (intervals[n].empty()) continue;
      CostInstanceSpec::Usage usage{static_cast<std::uint32_t>(n), compressed.intervals[n], {}};
      usage.bytes.reserve(contents_.usages[n].size());
      for (const std::int64_t bytes : contents_.usages[n])
        usage.bytes.push_back(std::min(bytes, above));
      spec_.usages.push_back(std::move(usage));
    }
    spec_.limits.assign(compressed.num_time_points, *limit_);
    return {};
  }

  Status add_edges() {
    const std::size_t num_edges = contents_.edge_nodes.size();
    if (contents_.edge_list.size() != num_edges) {
      return invalid_input("/problem/edges", "nodes and costs must have one entry per edge, not " +
                                                 std::to_string(num_edges) + " and " +
                                                 std::to_string(contents_.edge_list.size()));
    }
    for (std::size_t e = 0; e < num_edges; ++e)
      SHARDWRIGHT_RETURN_IF_ERROR(add_edge(e));
    return {};
  }

  Status add_edge(std::size_t e) {
    const std::span<const std::int64_t> nodes = contents_.edge_nodes[e];
    const std::span<const double> costs = contents_.edge_costs.lists()[contents_.edge_list[e]];
    if (nodes.empty())
      return invalid_input(problem_place("edges/nodes", e), "the edge has no nodes");
    std::size_t expected = 1;
    for (const std::int64_t node : nodes) {
      if (node < 0 || static_cast<std::size_t>(node) >= spec_.nodes.size()) {
        return invalid_input(problem_place("edges/nodes", e),
                             "there is no node " + std::to_string(node));
      }
      expected *= num_strategies(node);
      if (expected > std::max<std::size_t>(costs.size(), 1)) break;  // before it can overflow
    }
    if (costs.size() != expected) {
      return invalid_input(problem_place("edges/costs", e),
                           "has " + std::to_string(costs.size()) +
                               " entries, which is not the product of the numbers of strategies");
    }
    return add_checked_edge(e, nodes, costs);
  }

  Status add_checked_edge(std::size_t e, std::span<const std::int64_t> nodes,
                          std::span<const double> costs) {
    // Nodes with a single strategy can be left out: they do not change the order of the costs.
    std::vector<std::int64_t> free;
    if (nodes.size() == 2) {
      free.assign(nodes.begin(), nodes.end());
    } else {
      std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(free),
                   [&](std::int64_t node) { return num_strategies(node) > 1; });
      if (free.empty()) free.push_back(nodes.front());
    }
    if (free.size() > 2) {
      return Error{ErrorCode::kUnsupported,
                   "the edge joins " + std::to_string(free.size()) +
                       " nodes of several strategies; edges between two are supported",
                   problem_place("edges/nodes", e)};
    }
    if (free.size() == 2 && free[0] != free[1]) {
      spec_.edges.push_back({static_cast<std::uint32_t>(free[0]),
                             static_cast<std::uint32_t>(free[1]),
                             matrix_of(contents_.edge_list[e], num_strategies(free[0]), costs)});
      return {};
    }
    // The edge joins a node with itself (use the diagonal) or has one node (use all costs). Either
    // way the costs depend on this node only, so they become node costs.
    std::vector<double>& own = spec_.nodes[static_cast<std::size_t>(free[0])].costs;
    const std::size_t step = free.size() == 2 ? own.size() + 1 : 1;
    for (std::size_t s = 0; s < own.size(); ++s)
      own[s] += costs[s * step];
    return {};
  }

  std::size_t num_strategies(std::int64_t node) const {
    return spec_.nodes[static_cast<std::size_t>(node)].costs.size();
  }

  // Edges with equal costs and equal numbers of rows share a matrix.
  std::uint32_t matrix_of(std::uint32_t list, std::size_t rows, std::span<const double> costs) {
    const auto [known, added] = matrices_.try_emplace(
        (std::uint64_t{list} << 32) | rows, static_cast<std::uint32_t>(spec_.matrices.size()));
    if (added) {
      spec_.matrices.push_back({static_cast<std::uint32_t>(rows),
                                static_cast<std::uint32_t>(costs.size() / rows),
                                {costs.begin(), costs.end()}});
    }
    return known->second;
  }

  ContestContents contents_;
  std::optional<std::int64_t> limit_;
  CostInstanceSpec spec_;
  std::unordered_map<std::uint64_t, std::uint32_t> matrices_;
};

}  // namespace

Result<operators::CostInstance> read_contest_instance(std::string_view text,
                                                      std::optional<std::int64_t> budget) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(ContestContents contents, read_contest_contents(text));
  return ContestBuilder(std::move(contents), budget).build();
}

}  // namespace shardwright
