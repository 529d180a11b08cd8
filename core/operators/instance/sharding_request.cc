// Checks, evaluates, compares and scales requests in XLA's form.
#include "core/operators/instance/sharding_request.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/json_pointer.h"
#include "core/status.h"

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
                       "is negative or no number");
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
      return invalid_input(entry_place(key, t), "there is no number " + std::to_string(sorted.back()));
    }
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return invalid_input(entry_place(key, t), "names something twice");
    }
  }
  return {};
}

double least(const std::vector<double>& list) {
  return *std::min_element(list.begin(), list.end());
}

// Bytes at every time point, of what `bytes_of(lists, i)` says that the i-th holds.
template <class BytesOf>
std::vector<double> held_bytes(const ShardingRequest& request, const BytesOf& node_bytes,
                               const BytesOf& edge_bytes) {
  std::vector<double> held(std::max(request.live.size(), request.live_edges.size()), 0);
  for (std::size_t t = 0; t < request.live.size(); ++t) {
    for (const std::uint32_t n : request.live[t])
      held[t] += node_bytes(request.memory[n], n);
  }
  if (request.edge_memory.empty()) return held;
  for (std::size_t t = 0; t < request.live_edges.size(); ++t) {
    for (const std::uint32_t e : request.live_edges[t])
      held[t] += edge_bytes(request.edge_memory[e], e);
  }
  return held;
}

double largest(const std::vector<double>& list) {
  return list.empty() ? 0 : *std::max_element(list.begin(), list.end());
}

// The parts of an evaluation in turn.
// Thread safety: one thread at a time.
class Evaluator {
 public:
  Evaluator(const ShardingRequest& request, std::span<const std::uint32_t> choice)
      : request_(request), choice_(choice) {}

  RequestEvaluation run() {
    for (std::size_t e = 0; e < request_.edges.size(); ++e) {
      result_.edge_strategies.push_back(
          static_cast<std::uint32_t>(request_.edge_strategy(e, choice_)));
    }
    sum_costs();
    sum_memory();
    find_violations();
    return std::move(result_);
  }

 private:
  void sum_costs() {
    for (std::size_t n = 0; n < request_.num_nodes(); ++n) {
      result_.cost.computation += request_.computation[n][choice_[n]];
      result_.cost.communication += request_.communication[n][choice_[n]];
      result_.lower_bound.computation += least(request_.computation[n]);
      result_.lower_bound.communication += least(request_.communication[n]);
      if (!request_.departures.empty()) result_.departures += request_.departures[n][choice_[n]];
    }
    for (std::size_t e = 0; e < request_.edges.size(); ++e) {
      result_.cost.resharding += request_.resharding[e][result_.edge_strategies[e]];
      result_.lower_bound.resharding += least(request_.resharding[e]);
    }
  }

  void sum_memory() {
    using BytesOf = std::function<double(const std::vector<double>&, std::size_t)>;
    const BytesOf node_bytes = [&](const auto& list, std::size_t n) { return list[choice_[n]]; };
    const BytesOf edge_bytes = [&](const auto& list, std::size_t e) {
      return list[result_.edge_strategies[e]];
    };
    const BytesOf least_bytes = [](const auto& list, std::size_t) { return least(list); };
    result_.peak_bytes = largest(held_bytes(request_, node_bytes, edge_bytes));
    if (!(request_.memory_budget > 0) || !request_.overbudget_coefficient) return;
    const double least_peak = largest(held_bytes(request_, least_bytes, least_bytes));
    const auto price = [&](double peak) {
      return *request_.overbudget_coefficient * std::max(0.0, peak - request_.memory_budget);
    };
    result_.cost.overbudget = price(result_.peak_bytes);
    result_.lower_bound.overbudget = price(least_peak);
  }

  void find_violations() {
    const auto note = [&](bool violated, RequestViolation violation) {
      if (violated) result_.violations.push_back(violation);
    };
    note(violates_alias(), RequestViolation::kAlias);
    note(violates_follower(), RequestViolation::kFollower);
    note(violates_finiteness(), RequestViolation::kInfiniteCost);
    note(request_.memory_budget > 0 && !request_.overbudget_coefficient &&
             result_.peak_bytes > request_.memory_budget,
         RequestViolation::kMemory);
    note(request_.max_departures && result_.departures > *request_.max_departures,
         RequestViolation::kMaxDepartures);
  }

  bool violates_alias() const {
    for (std::size_t a = 0; a < request_.aliases.size(); ++a) {
      const ShardingRequest::Pair& pair = request_.aliases[a];
      const std::size_t columns = request_.computation[pair.second].size();
      if (request_.incompatible[a][choice_[pair.first] * columns + choice_[pair.second]] > 0.5) {
        return true;
      }
    }
    return false;
  }

  bool violates_follower() const {
    for (std::size_t n = 0; n < request_.num_nodes(); ++n) {
      if (request_.follows[n] && choice_[n] != choice_[*request_.follows[n]]) return true;
    }
    return false;
  }

  bool violates_finiteness() const {
    for (std::size_t n = 0; n < request_.num_nodes(); ++n) {
      const std::uint32_t s = choice_[n];
      if (request_.computation[n][s] + request_.communication[n][s] >= kInfiniteFrom) return true;
    }
    for (std::size_t e = 0; e < request_.edges.size(); ++e) {
      if (request_.resharding[e][result_.edge_strategies[e]] >= kInfiniteFrom) return true;
    }
    return false;
  }

  const ShardingRequest& request_;
  std::span<const std::uint32_t> choice_;
  RequestEvaluation result_;
};

// Six significant digits, as the peer prints them.
std::string increase(const char* what, const std::string& of, double from, double to) {
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, " (%g -> %g)", from, to);
  return std::string(what) + " cost increases for " + of + numbers;
}

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

const char* name_of(RequestViolation violation) {
  switch (violation) {
    case RequestViolation::kAlias:
      return "alias";
    case RequestViolation::kFollower:
      return "follower";
    case RequestViolation::kInfiniteCost:
      return "infinite_cost";
    case RequestViolation::kMemory:
      return "memory";
    case RequestViolation::kMaxDepartures:
      return "max_departures";
  }
  return "";
}

RequestEvaluation evaluate(const ShardingRequest& request, std::span<const std::uint32_t> choice) {
  SHARDWRIGHT_CHECK(choice.size() == request.num_nodes());
  return Evaluator(request, choice).run();
}

std::vector<std::string> rationalize(const ShardingRequest& request,
                                     std::span<const std::uint32_t> better,
                                     std::span<const std::uint32_t> worse) {
  std::vector<std::string> lines;
  const auto name = [&](std::size_t n) {
    return request.names.empty() ? "node " + std::to_string(n) : request.names[n];
  };
  const auto compare = [&](const char* what, const std::string& of, double from, double to) {
    if (from < to) lines.push_back(increase(what, of, from, to));
  };
  for (std::size_t n = 0; n < request.num_nodes(); ++n) {
    const std::uint32_t from = better[n];
    const std::uint32_t to = worse[n];
    if (from != to) {
      lines.push_back("strategy changes for " + name(n) + " (" + std::to_string(from) + " -> " +
                      std::to_string(to) + ")");
    }
    compare("communication", name(n), request.communication[n][from], request.communication[n][to]);
    compare("computation", name(n), request.computation[n][from], request.computation[n][to]);
  }
  for (std::size_t e = 0; e < request.edges.size(); ++e) {
    compare("resharding", name(request.edges[e].first) + " and " + name(request.edges[e].second),
            request.resharding[e][request.edge_strategy(e, better)],
            request.resharding[e][request.edge_strategy(e, worse)]);
  }
  return lines;
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

}  // namespace shardwright::operators
