#include "core/operators/instance/sharding_request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/json_pointer.h"
#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {
namespace {

using Lists = std::vector<std::vector<double>>;
using Indices = std::vector<std::vector<std::uint32_t>>;

Status check_numbers(const char* key, std::size_t i, const std::vector<double>& list,
                     std::size_t size) {
  if (list.size() != size) {
    return invalid_input(entry_place(key, i), "has " + std::to_string(list.size()) +
                                                  " entries instead of " + std::to_string(size));
  }
  const auto bad = std::find_if_not(list.begin(), list.end(), [](double x) { return x >= 0; });
  if (bad == list.end()) return {};
  return invalid_input(entry_place(key, i) + "/" + std::to_string(bad - list.begin()),
                       "is negative or not a number");
}

Status check_count(const char* key, std::size_t count, std::size_t expected) {
  if (count == expected) return {};
  return invalid_input(
      std::string("/") + key,
      "has " + std::to_string(count) + " entries instead of " + std::to_string(expected));
}

Status check_nodes(const ShardingRequest& request) {
  const std::size_t n = request.num_nodes();
  SHARDWRIGHT_RETURN_IF_ERROR(check_count("d", request.communication.size(), n));
  SHARDWRIGHT_RETURN_IF_ERROR(check_count("m", request.memory.size(), n));
  SHARDWRIGHT_RETURN_IF_ERROR(check_count("s_follow", request.follows.size(), n));
  if (!request.departures.empty()) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_count("p", request.departures.size(), n));
    if (request.max_departures && !(*request.max_departures >= 0))
      return invalid_input("/max_departures", "is negative or not a number");
  }
  if (!request.names.empty()) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_count("names", request.names.size(), n));
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t size = request.computation[i].size();
    if (size == 0) return invalid_input(entry_place("c", i), "the node has no strategies");
    SHARDWRIGHT_RETURN_IF_ERROR(check_numbers("c", i, request.computation[i], size));
    SHARDWRIGHT_RETURN_IF_ERROR(check_numbers("d", i, request.communication[i], size));
    SHARDWRIGHT_RETURN_IF_ERROR(check_numbers("m", i, request.memory[i], size));
    if (!request.departures.empty()) {
      SHARDWRIGHT_RETURN_IF_ERROR(check_numbers("p", i, request.departures[i], size));
    }
    if (request.follows[i] && *request.follows[i] >= n) {
      return invalid_input(entry_place("s_follow", i), "there is no such node");
    }
  }
  return {};
}

Status check_pairs(const ShardingRequest& request, const char* key,
                   const std::vector<ShardingRequest::Pair>& pairs, const char* list_key,
                   const Lists& lists) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_count(list_key, lists.size(), pairs.size()));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].first >= request.num_nodes() || pairs[i].second >= request.num_nodes()) {
      return invalid_input(entry_place(key, i), "there is no such node");
    }
    const std::size_t size =
        request.computation[pairs[i].first].size() * request.computation[pairs[i].second].size();
    SHARDWRIGHT_RETURN_IF_ERROR(check_numbers(list_key, i, lists[i], size));
  }
  return {};
}

Status check_live(const char* key, const Indices& live, std::size_t count) {
  for (std::size_t t = 0; t < live.size(); ++t) {
    std::vector<std::uint32_t> sorted = live[t];
    std::sort(sorted.begin(), sorted.end());
    if (!sorted.empty() && sorted.back() >= count) {
      return invalid_input(entry_place(key, t), std::to_string(sorted.back()) + " is out of range");
    }
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return invalid_input(entry_place(key, t), "has a repeated entry");
    }
  }
  return {};
}

using Spec = CostInstanceSpec;

// An interval of consecutive time points at which a node or an edge is live.
struct Run {
  std::uint32_t index;  // of a node or an edge
  TimeInterval live;
};

void append_runs(const std::vector<std::vector<std::uint32_t>>& live, std::size_t count,
                 std::vector<Run>& runs) {
  constexpr auto kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> last(count, kNone);  // by index: its latest run in `runs`
  for (std::size_t t = 0; t < live.size(); ++t) {
    const auto time = static_cast<std::int64_t>(t);
    for (const std::uint32_t i : live[t]) {
      if (last[i] != kNone && runs[last[i]].live.end == time) {
        ++runs[last[i]].live.end;
      } else {
        last[i] = runs.size();
        runs.push_back({i, {time, time + 1}});
      }
    }
  }
}

std::int64_t to_bytes(double bytes) {
  constexpr double kMost = 4611686018427387904.0;  // 2^62
  return static_cast<std::int64_t>(std::ceil(std::min(bytes, kMost)));
}

std::vector<std::int64_t> to_bytes(const std::vector<double>& list) {
  std::vector<std::int64_t> bytes;
  bytes.reserve(list.size());
  for (const double number : list)
    bytes.push_back(to_bytes(number));
  return bytes;
}

double finite_or_forbidden(double cost) { return cost >= kInfiniteFrom ? kForbidden : cost; }

// State of one call of lower().
// Thread safety: one thread at a time.
class Lowering {
 public:
  explicit Lowering(const ShardingRequest& request)
      : request_(request), limited_(request.memory_budget > 0) {}

  Result<OperatorProblem> run() {
    add_nodes();
    const std::uint32_t num_time_points = add_memory();
    add_departures(num_time_points);
    Spec graph = spec_;
    add_edges(graph);
    add_edges_with_memory();
    std::vector<std::uint32_t> leaders(spec_.nodes.size());
    std::iota(leaders.begin(), leaders.end(), 0U);
    for (std::size_t n = 0; n < request_.num_nodes(); ++n)
      leaders[n] = request_.follows[n].value_or(static_cast<std::uint32_t>(n));
    SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(std::move(graph)));
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        LoweredInstance lowered,
        LoweredInstance::make(std::move(instance), std::move(spec_), leaders));
    OperatorProblem problem(std::move(lowered));
    problem.max_cost = request_.max_cost;
    problem.num_memory_time_points = num_time_points;
    if (limited_ && request_.overbudget_coefficient) {
      problem.soft_budget = SoftBudget{budget(), *request_.overbudget_coefficient};
    }
    return problem;
  }

 private:
  std::int64_t budget() const {
    return static_cast<std::int64_t>(std::floor(std::min(request_.memory_budget, 4e18)));
  }

  void add_nodes() {
    for (std::size_t n = 0; n < request_.num_nodes(); ++n) {
      Spec::Node node;
      if (!request_.names.empty()) node.name = request_.names[n];
      for (std::size_t s = 0; s < request_.computation[n].size(); ++s) {
        node.costs.push_back(
            finite_or_forbidden(request_.computation[n][s] + request_.communication[n][s]));
      }
      spec_.nodes.push_back(std::move(node));
    }
  }

  // Returns the number of time points with a memory limit.
  std::uint32_t add_memory() {
    if (!limited_) return 0;
    std::vector<Run> runs;
    append_runs(request_.live, request_.num_nodes(), runs);
    const std::size_t num_node_runs = runs.size();
    if (!request_.edge_memory.empty()) {
      append_runs(request_.live_edges, request_.edges.size(), runs);
    }
    std::vector<TimeInterval> intervals;
    intervals.reserve(runs.size());
    for (const Run& run : runs)
      intervals.push_back(run.live);
    const CompressedIntervals compressed = compress(intervals);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (i < num_node_runs) {
        spec_.usages.push_back(
            {runs[i].index, compressed.intervals[i], to_bytes(request_.memory[runs[i].index])});
      } else {
        edge_runs_.emplace_back(runs[i].index, compressed.intervals[i]);
      }
    }
    spec_.limits.assign(compressed.num_time_points, budget());
    return compressed.num_time_points;
  }

  // Departures may be fractions, but an instance adds whole numbers, so departures are scaled.
  void add_departures(std::uint32_t time_point) {
    if (!request_.max_departures || request_.departures.empty()) return;
    constexpr double kPerDeparture = 1 << 20;
    spec_.limits.push_back(static_cast<std::int64_t>(
        std::floor(std::min(*request_.max_departures, 1e12) * kPerDeparture)));
    for (std::size_t n = 0; n < request_.num_nodes(); ++n) {
      Spec::Usage usage{static_cast<std::uint32_t>(n), {time_point, time_point + 1}, {}};
      for (const double departures : request_.departures[n]) {
        usage.bytes.push_back(
            static_cast<std::int64_t>(std::round(std::min(departures, 1e9) * kPerDeparture)));
      }
      spec_.usages.push_back(std::move(usage));
    }
  }

  static void add_edge(Spec& spec, std::uint32_t first, std::uint32_t second,
                       std::vector<double> entries) {
    std::vector<double>& own = spec.nodes[first].costs;
    if (first == second) {
      for (std::size_t s = 0; s < own.size(); ++s)
        own[s] += entries[s * own.size() + s];
      return;
    }
    spec.edges.push_back({first, second, static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back({static_cast<std::uint32_t>(own.size()),
                             static_cast<std::uint32_t>(spec.nodes[second].costs.size()),
                             std::move(entries)});
  }

  std::vector<double> resharding_of(std::size_t e) const {
    std::vector<double> entries = request_.resharding[e];
    for (double& cost : entries)
      cost = finite_or_forbidden(cost);
    return entries;
  }

  void add_aliases(Spec& spec) const {
    for (std::size_t a = 0; a < request_.aliases.size(); ++a) {
      std::vector<double> entries;
      for (const double flag : request_.incompatible[a])
        entries.push_back(flag > 0.5 ? kForbidden : 0);
      add_edge(spec, request_.aliases[a].first, request_.aliases[a].second, std::move(entries));
    }
  }

  void add_edges(Spec& spec) const {
    for (std::size_t e = 0; e < request_.edges.size(); ++e)
      add_edge(spec, request_.edges[e].first, request_.edges[e].second, resharding_of(e));
    add_aliases(spec);
  }

  // Edges that hold memory become nodes with one strategy per pair, tied to both ends.
  void add_edges_with_memory() {
    std::vector<std::uint32_t> nodes(request_.edges.size(), 0);  // by edge; 0: stays an edge
    for (const auto& [edge, live] : edge_runs_) {
      if (nodes[edge] != 0) continue;
      nodes[edge] = static_cast<std::uint32_t>(spec_.nodes.size());
      spec_.nodes.push_back({"", resharding_of(edge)});
    }
    for (const auto& [edge, live] : edge_runs_)
      spec_.usages.push_back({nodes[edge], live, to_bytes(request_.edge_memory[edge])});
    for (std::size_t e = 0; e < request_.edges.size(); ++e) {
      if (nodes[e] == 0) {
        add_edge(spec_, request_.edges[e].first, request_.edges[e].second, resharding_of(e));
      } else {
        tie(nodes[e], request_.edges[e]);
      }
    }
    add_aliases(spec_);
  }

  // Each strategy of `node` stands for a pair: a strategy of the first end, and one of the second.
  // Adds edges that forbid all strategies of `node` but the pair that its ends take.
  void tie(std::uint32_t node, const ShardingRequest::Pair& ends) {
    const std::size_t rows = request_.computation[ends.first].size();
    const std::size_t columns = request_.computation[ends.second].size();
    std::vector<double> to_first(rows * columns * rows, kForbidden);
    std::vector<double> to_second(rows * columns * columns, kForbidden);
    for (std::size_t pair = 0; pair < rows * columns; ++pair) {
      to_first[pair * rows + pair / columns] = 0;
      to_second[pair * columns + pair % columns] = 0;
    }
    add_edge(spec_, node, ends.first, std::move(to_first));
    add_edge(spec_, node, ends.second, std::move(to_second));
  }

  const ShardingRequest& request_;
  bool limited_;
  Spec spec_;
  std::vector<std::pair<std::uint32_t, LiveInterval>> edge_runs_;
};

}  // namespace

Status check(const ShardingRequest& request) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_nodes(request));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_pairs(request, "edges", request.edges, "r", request.resharding));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_pairs(request, "aliases", request.aliases, "v", request.incompatible));
  if (!request.edge_memory.empty()) {
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_pairs(request, "edges", request.edges, "memory_edge", request.edge_memory));
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_live("live", request.live, request.num_nodes()));
  return check_live("live_edges", request.live_edges, request.edges.size());
}

ShardingRequest scale(ShardingRequest request, double coefficient_limit) {
  Lists* const all[] = {&request.computation, &request.communication, &request.resharding};
  double largest_cost = 0;
  for (const Lists* lists : all) {
    for (const std::vector<double>& list : *lists) {
      for (const double cost : list) {
        if (cost < kInfiniteFrom) largest_cost = std::max(largest_cost, cost);
      }
    }
  }
  if (largest_cost <= coefficient_limit) return request;
  const double divisor = largest_cost / coefficient_limit;
  for (Lists* lists : all) {
    for (std::vector<double>& list : *lists) {
      for (double& cost : list) {
        if (cost < kInfiniteFrom) cost = std::floor(cost / divisor);
      }
    }
  }
  return request;
}

Result<OperatorProblem> lower(const ShardingRequest& request) {
  SHARDWRIGHT_RETURN_IF_ERROR(check(request));
  return Lowering(request).run();
}

}  // namespace shardwright::operators
