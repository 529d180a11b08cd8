#include "tests/support/operators/request_evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <utility>

#include "core/check.h"

namespace shardwright::operators {
namespace {

double least(const std::vector<double>& list) {
  return *std::min_element(list.begin(), list.end());
}

// Returns the bytes held at every time point. `node_bytes(list, n)` picks the bytes of node n from
// its list of bytes by strategy. `edge_bytes` does the same for edges.
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

// The work of one evaluate() call. Thread safety: one thread at a time.
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

// Prints six significant digits, as XLA does.
std::string increase(const char* what, const std::string& of, double from, double to) {
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, " (%g -> %g)", from, to);
  return std::string(what) + " cost increases for " + of + numbers;
}

}  // namespace

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

}  // namespace shardwright::operators
