// Reads cost instances in XLA's format.
#include "runtime/io/operators/instance/sharding_request_json.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/operators/instance/sharding_request.h"
#include "core/status.h"
#include "runtime/io/json/json_reader.h"
#include "runtime/io/operators/instance/cost_instance_json.h"

namespace shardwright {
namespace {

using operators::ShardingRequest;

Status read_indices(JsonValue value, std::vector<std::uint32_t>& indices) {
  std::vector<std::int64_t> numbers;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, numbers));
  indices.clear();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] > INT32_MAX) return value[i].expected("an index");
    indices.push_back(static_cast<std::uint32_t>(numbers[i]));
  }
  return {};
}

Status read_index_lists(JsonValue value, std::vector<std::vector<std::uint32_t>>& lists) {
  if (value.is_null()) return {};
  if (!value.is_array()) return value.expected("a list of lists");
  lists.resize(value.size());
  for (std::size_t i = 0; i < lists.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_indices(value[i], lists[i]));
  return {};
}

Status read_pairs(JsonValue value, std::vector<ShardingRequest::Pair>& pairs) {
  std::vector<std::vector<std::uint32_t>> lists;
  SHARDWRIGHT_RETURN_IF_ERROR(read_index_lists(value, lists));
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].size() != 2) return value[i].expected("a pair of nodes");
    pairs.push_back({lists[i][0], lists[i][1]});
  }
  return {};
}

// Reads the node that each node follows. A negative entry means that it follows none.
Status read_follows(JsonValue value, std::vector<std::optional<std::uint32_t>>& follows) {
  std::vector<std::int64_t> numbers;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, numbers));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > INT32_MAX) return value[i].error("there is no such node");
    follows.emplace_back();
    if (numbers[i] >= 0) follows.back() = static_cast<std::uint32_t>(numbers[i]);
  }
  return {};
}

Status check_lengths(JsonValue value, const std::vector<std::int64_t>& lengths,
                     const ShardingRequest& request) {
  if (lengths.size() != request.num_nodes()) {
    return value.error("s_len has " + std::to_string(lengths.size()) + " entries for " +
                       std::to_string(request.num_nodes()) + " lists of costs");
  }
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    if (lengths[n] == static_cast<std::int64_t>(request.computation[n].size())) continue;
    return value.error("s_len says that node " + std::to_string(n) + " has " +
                       std::to_string(lengths[n]) + " strategies, but it has " +
                       std::to_string(request.computation[n].size()) + " costs");
  }
  return {};
}

}  // namespace

Result<ShardingRequest> read_sharding_request(JsonValue root) {
  ShardingRequest request;
  std::optional<std::int64_t> num_nodes;
  std::vector<std::int64_t> lengths;
  ObjectReader reader(root);
  const auto pairs = [](std::vector<ShardingRequest::Pair>& out) {
    return [&out](JsonValue value) { return read_pairs(value, out); };
  };
  const auto indices = [](std::vector<std::vector<std::uint32_t>>& out) {
    return [&out](JsonValue value) { return read_index_lists(value, out); };
  };
  reader.optional("num_nodes", num_nodes)
      .required("s_len", lengths)
      .optional_with("s_follow",
                     [&](JsonValue value) { return read_follows(value, request.follows); })
      .optional("names", request.names)
      .required("c", request.computation)
      .required("d", request.communication)
      .required("m", request.memory)
      .optional("p", request.departures)
      .required_with("edges", pairs(request.edges))
      .required("r", request.resharding)
      .optional_with("aliases", pairs(request.aliases))
      .optional("v", request.incompatible)
      .optional_with("live", indices(request.live))
      .optional_with("live_edges", indices(request.live_edges))
      .optional("memory_edge", request.edge_memory)
      .optional("memory_budget", request.memory_budget)
      .optional("overbudget_coeff", request.overbudget_coefficient)
      .optional("max_departures", request.max_departures)
      .optional("max_cost", request.max_cost)
      .ignore({"name", "expected", "group", "timing", "note", "coeff_limit"});
  SHARDWRIGHT_RETURN_IF_ERROR(reader.finish());
  if (request.follows.empty()) request.follows.resize(request.num_nodes());
  if (num_nodes && *num_nodes != static_cast<std::int64_t>(request.num_nodes())) {
    return root.error("num_nodes is " + std::to_string(*num_nodes) + ", but there are " +
                      std::to_string(request.num_nodes()) + " lists of costs");
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_lengths(root, lengths, request));
  if (request.overbudget_coefficient && !(*request.overbudget_coefficient >= 0)) {
    return root.find("overbudget_coeff")->error("is negative");
  }
  if (Status status = operators::check(request); !status.ok()) {
    return invalid_input(root.pointer() + status.error().where, status.error().message);
  }
  return request;
}

Result<ShardingRequest> read_sharding_request(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  return read_sharding_request(document.root());
}

}  // namespace shardwright
