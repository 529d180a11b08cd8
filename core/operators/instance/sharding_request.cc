#include "core/operators/instance/sharding_request.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/json_pointer.h"

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

}  // namespace shardwright::operators
