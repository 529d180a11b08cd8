// Recognises the format of a cost instance and calls its reader.

#include "runtime/io/operators/instance_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "core/operators/instance/sharding_request.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_scanner.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/contest_json.h"

namespace shardwright {
namespace {

using operators::CostInstance;
using operators::LoweredInstance;
using operators::OperatorProblem;

bool has_contest_form(std::string_view text) {
  JsonScanner scanner(text);
  bool first = true;
  std::string key;
  return scanner.begin_object() && scanner.next_key(first, key) && key == "problem";
}

Result<OperatorProblem> lower_request(JsonValue root, const CostInstanceOptions& options) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(operators::ShardingRequest request, read_sharding_request(root));
  if (options.budget) request.memory_budget = static_cast<double>(*options.budget);
  Result<OperatorProblem> problem = operators::lower(request);
  if (!problem.ok()) return at_sum(problem.error(), root.pointer() + "/m");
  return problem;
}

}  // namespace

Result<OperatorProblem> read_cost_instance(std::string_view text,
                                           const CostInstanceOptions& options) {
  if (has_contest_form(text)) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance,
                                 read_contest_instance(text, options.budget));
    return OperatorProblem(LoweredInstance(std::move(instance)));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kCostInstance));
  if (!root.is_object()) return root.expected("an object");
  if (const auto request = root.find("request")) return lower_request(*request, options);
  if (root.find("s_len")) return lower_request(root, options);
  if (root.find("solve")) return root.error("holds a list of requests; give one of them");
  return read_colossal_instance(root, options);
}

namespace {

using operators::CostInstance;
using operators::CostInstanceSpec;
using operators::LoweredInstance;
using operators::OperatorProblem;

// Keys of descriptions, redundant counts and answers, which are ignored.
constexpr std::array<std::string_view, 14> kKeysOfSolutions{
    "counters",  "name",     "mesh",  "num_nodes", "num_strategies", "edges_before", "edges_after",
    "solutions", "expected", "group", "timing",    "note",           "source",       "options"};

struct NodeRecord {
  std::string name;
  std::vector<std::string> strategies;
  std::vector<double> costs;
  std::vector<std::int64_t> bytes;
};

struct EdgeRecord {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::vector<double> entries;
};

Status read_bytes(JsonValue value, std::int64_t& bytes) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const double number, value.number());
  constexpr double kMost = 4611686018427387904.0;  // 2^62
  if (!(number >= 0 && number <= kMost)) return value.expected("a number of bytes from 0 to 2^62");
  bytes = static_cast<std::int64_t>(std::ceil(number));
  return {};
}

struct StrategyOfNode {
  std::string name;
  double compute = 0;
  double communication = 0;
  std::int64_t bytes = 0;
};

void describe(JsonMembers& members, StrategyOfNode& strategy) {
  members.optional("name", strategy.name)
      .required("compute", strategy.compute)
      .from(0)
      .required("comm", strategy.communication)
      .from(0)
      .required_with(
          "mem", [&](JsonValue mem) { return read_bytes(mem, strategy.bytes); },
          [] { return json::number().from(0).says("Bytes."); })
      .ignore({"specs"});
}

Status read_strategy(JsonValue value, NodeRecord& node) {
  StrategyOfNode strategy;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, strategy));
  for (const auto& [key, cost] :
       {std::pair("compute", strategy.compute), std::pair("comm", strategy.communication)}) {
    if (!(cost >= 0)) return value.find(key)->error("a cost is negative");
  }
  node.strategies.push_back(std::move(strategy.name));
  node.costs.push_back(strategy.compute + strategy.communication);
  node.bytes.push_back(strategy.bytes);
  return {};
}

Status read_index(JsonValue value, std::size_t count, std::uint32_t& index) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t number, value.integer());
  if (number < 0 || static_cast<std::size_t>(number) >= count) {
    return value.error("there is no node " + std::to_string(number) + "; there are " +
                       std::to_string(count));
  }
  index = static_cast<std::uint32_t>(number);
  return {};
}

// Inputs must be earlier nodes. They carry no costs, since the edges have these.
Status check_inputs(JsonValue value, std::size_t index) {
  std::vector<std::int64_t> inputs;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, inputs));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] >= 0 && static_cast<std::size_t>(inputs[i]) < index) continue;
    return value[i].error("there is no node " + std::to_string(inputs[i]) +
                          " before this one, which is node " + std::to_string(index));
  }
  return {};
}

Status read_strategies(JsonValue list, NodeRecord& node) {
  if (!list.is_array()) return list.expected("a list of strategies");
  if (list.size() == 0) return list.error("the node has no strategies");
  for (std::size_t s = 0; s < list.size(); ++s)
    SHARDWRIGHT_RETURN_IF_ERROR(read_strategy(list[s], node));
  return {};
}

void describe_node(JsonMembers& members, std::size_t index, NodeRecord& node) {
  members.optional("name", node.name)
      .required_with(
          "strategies", [&](JsonValue list) { return read_strategies(list, node); },
          [] { return json::list(shape_of(StrategyOfNode())).from(1); })
      .optional_with(
          "inputs", [&](JsonValue list) { return check_inputs(list, index); },
          [] { return json::list(json::natural()).or_null(); })
      .ignore({"op", "target", "shape", "merge", "kind", "dtype"});
}

JsonShape nodes_shape() {
  return json::list(shape_by([](JsonMembers& members) {
    NodeRecord sample;
    describe_node(members, 0, sample);
  }));
}

JsonShape costs_shape() { return json::list(json::number().from(0)); }

JsonShape edges_shape() {
  return json::list(
      json::tuple({json::natural(), json::natural(), json::list(costs_shape().or_null())})
          .says("[node, node, cost by strategy of the first and of the second]"));
}

// Returns the shape of an object whose keys are node indices.
JsonShape by_node(JsonShape value) {
  return json::by_name(std::move(value)).like("^[0-9]+$").or_null();
}

// Reads a cost instance in ColossalAI's form.
// Thread safety: one thread at a time.
class ColossalReader {
 public:
  explicit ColossalReader(const CostInstanceOptions& options) : options_(options) {}

  Result<OperatorProblem> read(JsonValue root) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_by(root, [&](JsonMembers& members) { describe(members); }));
    return build();
  }

  void describe(JsonMembers& members) {
    const auto leaders = [&](JsonValue value) { return read_leaders(value); };
    const auto leaders_shape = [] { return by_node(json::integer()); };
    members
        .required_with(
            "nodes", [&](JsonValue value) { return read_nodes(value); }, nodes_shape)
        .required_with(
            "edges", [&](JsonValue value) { return use_edges(value, false); }, edges_shape)
        .optional_with(
            "edges_merged", [&](JsonValue value) { return use_edges(value, true); }, edges_shape)
        .optional_with(
            "extra_node_costs", [&](JsonValue value) { return read_extra(value); },
            [] { return by_node(costs_shape().or_null()); })
        .optional_with("alias_set", leaders, leaders_shape)
        .optional_with("following", leaders, leaders_shape)
        .optional_with(
            "memory_budget", [&](JsonValue value) { return read_budget(value); },
            [] { return json::number().or_null().says("Bytes; 0 or less means no budget."); })
        .ignore(kKeysOfSolutions);
  }

 private:
  Status read_nodes(JsonValue value) {
    if (!value.is_array()) return value.expected("a list of nodes");
    nodes_.resize(value.size());
    leaders_.resize(nodes_.size());
    std::iota(leaders_.begin(), leaders_.end(), 0U);
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      SHARDWRIGHT_RETURN_IF_ERROR(
          read_by(value[n], [&](JsonMembers& members) { describe_node(members, n, nodes_[n]); }));
    return {};
  }

  Status use_edges(JsonValue value, bool merged) {
    if (!value.is_array()) return value.expected("a list of edges");
    if (merged && options_.unmerged) return {};
    edges_.assign(value.size(), {});
    for (std::size_t e = 0; e < edges_.size(); ++e)
      SHARDWRIGHT_RETURN_IF_ERROR(read_edge(value[e], edges_[e]));
    return {};
  }

  Status read_edge(JsonValue value, EdgeRecord& edge) {
    constexpr std::size_t kParts = 3;
    if (!value.is_array() || value.size() != kParts)
      return value.expected("a list [node, node, cost matrix]");
    if (!value[2].is_array()) return value[2].expected("a matrix of costs, a list of rows");
    SHARDWRIGHT_RETURN_IF_ERROR(read_index(value[0], nodes_.size(), edge.first));
    SHARDWRIGHT_RETURN_IF_ERROR(read_index(value[1], nodes_.size(), edge.second));
    const std::size_t rows = nodes_[edge.first].costs.size();
    const std::size_t columns = nodes_[edge.second].costs.size();
    if (value[2].size() != rows) {
      return value[2].error("has " + std::to_string(value[2].size()) + " rows for " +
                            std::to_string(rows) + " strategies");
    }
    edge.entries.reserve(rows * columns);
    std::vector<double> row;
    for (std::size_t s = 0; s < rows; ++s) {
      const JsonValue entries = value[2][s];
      SHARDWRIGHT_RETURN_IF_ERROR(read_costs(entries, columns, row));
      edge.entries.insert(edge.entries.end(), row.begin(), row.end());
    }
    return {};
  }

  static Status read_costs(JsonValue value, std::size_t size, std::vector<double>& costs) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, costs));
    if (costs.size() != size) {
      return value.error("has " + std::to_string(costs.size()) + " entries for " +
                         std::to_string(size) + " strategies");
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (!(costs[i] >= 0)) return value[i].error("a cost is negative");
    }
    return {};
  }

  // Calls use(node, value) for each member of an object whose keys are node indices.
  template <class Use>
  Status for_each_node(JsonValue value, const Use& use) {
    if (value.is_null()) return {};
    if (!value.is_object()) return value.expected("an object by node");
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string_view key = value[i].key();
      std::uint32_t node = 0;
      const auto end = key.data() + key.size();
      const auto converted = std::from_chars(key.data(), end, node);
      if (converted.ec != std::errc{} || converted.ptr != end || node >= nodes_.size()) {
        return value[i].error("there is no node \"" + std::string(key) + "\"");
      }
      SHARDWRIGHT_RETURN_IF_ERROR(use(node, value[i]));
    }
    return {};
  }

  Status read_extra(JsonValue value) {
    if (options_.unmerged) return {};
    return for_each_node(value, [&](std::uint32_t node, JsonValue list) -> Status {
      std::vector<double> extra;
      SHARDWRIGHT_RETURN_IF_ERROR(read_costs(list, nodes_[node].costs.size(), extra));
      for (std::size_t s = 0; s < extra.size(); ++s)
        nodes_[node].costs[s] += extra[s];
      return {};
    });
  }

  // Call this for aliases first, then for followers, so that followers take precedence.
  Status read_leaders(JsonValue value) {
    if (options_.unmerged) return {};
    return for_each_node(value, [&](std::uint32_t node, JsonValue leader) -> Status {
      SHARDWRIGHT_RETURN_IF_ERROR(read_index(leader, nodes_.size(), leaders_[node]));
      return {};
    });
  }

  // As in ColossalAI, a budget <= 0 means no budget.
  Status read_budget(JsonValue value) {
    if (value.is_null()) return {};
    SHARDWRIGHT_ASSIGN_OR_RETURN(const double budget, value.number());
    if (budget > 0) budget_ = static_cast<std::int64_t>(std::floor(std::min(budget, 4e18)));
    return {};
  }

  Result<OperatorProblem> build() {
    CostInstanceSpec spec;
    const std::optional<std::int64_t> budget = options_.budget ? options_.budget : budget_;
    // Without a budget, memory gets the largest limit, so that the answer reports the memory used.
    spec.limits.push_back(budget.value_or(std::numeric_limits<std::int64_t>::max()));
    std::vector<std::vector<std::string>> names;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      spec.nodes.push_back({std::move(nodes_[n].name), std::move(nodes_[n].costs)});
      spec.usages.push_back({static_cast<std::uint32_t>(n), {0, 1}, std::move(nodes_[n].bytes)});
      names.push_back(std::move(nodes_[n].strategies));
    }
    for (EdgeRecord& edge : edges_)
      add_edge(edge, spec);
    Result<CostInstance> graph = CostInstance::make(spec);
    if (!graph.ok()) return at_sum(graph.error(), "/nodes");
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        LoweredInstance lowered,
        LoweredInstance::make(std::move(graph).value(), std::move(spec), leaders_));
    OperatorProblem problem(std::move(lowered));
    problem.strategy_names = std::move(names);
    return problem;
  }

  static void add_edge(EdgeRecord& edge, CostInstanceSpec& spec) {
    std::vector<double>& own = spec.nodes[edge.first].costs;
    if (edge.first == edge.second) {
      for (std::size_t s = 0; s < own.size(); ++s)
        own[s] += edge.entries[s * own.size() + s];
      return;
    }
    spec.edges.push_back(
        {edge.first, edge.second, static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back({static_cast<std::uint32_t>(own.size()),
                             static_cast<std::uint32_t>(spec.nodes[edge.second].costs.size()),
                             std::move(edge.entries)});
  }

  const CostInstanceOptions& options_;
  std::vector<NodeRecord> nodes_;
  std::vector<EdgeRecord> edges_;
  std::vector<std::uint32_t> leaders_;
  std::optional<std::int64_t> budget_;
};

}  // namespace

Result<OperatorProblem> read_colossal_instance(JsonValue root, const CostInstanceOptions& options) {
  return ColossalReader(options).read(root);
}

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

// Reads the node that each node follows; a negative number means none.
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

// Counts that the file states in addition to the request. They must agree with its lists.
struct Lengths {
  std::optional<std::int64_t> num_nodes;
  std::vector<std::int64_t> strategies;  // number of strategies, by node
};

void describe_request(JsonMembers& members, ShardingRequest& request, Lengths& lengths) {
  const auto pairs = [](std::vector<ShardingRequest::Pair>& out) {
    return [&out](JsonValue value) { return read_pairs(value, out); };
  };
  const auto indices = [](std::vector<std::vector<std::uint32_t>>& out) {
    return [&out](JsonValue value) { return read_index_lists(value, out); };
  };
  const auto pairs_shape = [] {
    return json::list(json::list(json::natural()).from(2).up_to(2)).or_null();
  };
  const auto lists_shape = [] {
    return json::list(json::list(json::natural()).or_null()).or_null();
  };
  members.optional("num_nodes", lengths.num_nodes)
      .required("s_len", lengths.strategies, "Strategies of each node.")
      .optional_with(
          "s_follow", [&](JsonValue value) { return read_follows(value, request.follows); },
          [] {
            return json::list(json::integer())
                .or_null()
                .says("The node whose choice each node takes; -1 for none.");
          })
      .optional("names", request.names)
      .required("c", request.computation, "Cost of computing, by node and strategy.")
      .required("d", request.communication, "Cost of communication, by node and strategy.")
      .required("m", request.memory, "Bytes, by node and strategy.")
      .optional("p", request.departures, "Departures, by node and strategy.")
      .required_with("edges", pairs(request.edges), pairs_shape)
      .required("r", request.resharding, "Cost of resharding, by edge and pair of strategies.")
      .optional_with("aliases", pairs(request.aliases), pairs_shape)
      .optional("v", request.incompatible, "Above 0 where an alias forbids a pair of strategies.")
      .optional_with("live", indices(request.live), lists_shape)
      .optional_with("live_edges", indices(request.live_edges), lists_shape)
      .optional("memory_edge", request.edge_memory)
      .optional("memory_budget", request.memory_budget, "Bytes.")
      .optional("overbudget_coeff", request.overbudget_coefficient)
      .optional("max_departures", request.max_departures)
      .optional("max_cost", request.max_cost)
      .ignore({"name", "expected", "group", "timing", "note", "coeff_limit"});
}

}  // namespace

Result<ShardingRequest> read_sharding_request(JsonValue root) {
  ShardingRequest request;
  Lengths lengths;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(root, [&](JsonMembers& members) { describe_request(members, request, lengths); }));
  if (request.follows.empty()) request.follows.resize(request.num_nodes());
  const std::optional<std::int64_t> num_nodes = lengths.num_nodes;
  if (num_nodes && *num_nodes != static_cast<std::int64_t>(request.num_nodes())) {
    return root.error("num_nodes is " + std::to_string(*num_nodes) + ", but there are " +
                      std::to_string(request.num_nodes()) + " lists of costs");
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_lengths(root, lengths.strategies, request));
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

namespace {

JsonShape contest_shape() {
  const JsonShape integers = json::list(json::list(json::natural()));
  const JsonShape costs = json::list(costs_shape());
  return json::object(
      {{"nodes",
        json::object(
            {{"intervals", integers, true}, {"costs", costs, true}, {"usages", integers, true}}),
        true},
       {"edges", json::object({{"nodes", integers, true}, {"costs", costs, true}}), true},
       {"name", json::text()},
       {"usage_limit", json::natural().or_null().says("Bytes.")}});
}

}  // namespace

JsonShape cost_instance_shape() {
  const CostInstanceOptions options;
  const JsonShape request = shape_by([](JsonMembers& members) {
                              ShardingRequest sample;
                              Lengths lengths;
                              describe_request(members, sample, lengths);
                            }).named("request");
  return json::one_of(
             {shape_by([&](JsonMembers& members) { ColossalReader(options).describe(members); }),
              request, json::object({{"request", request, true}}).open(),
              json::object(
                  {{"problem",
                    contest_shape().says("The form of the ASPLOS/EuroSys contest of 2025."),
                    true}})})
      .says(
          "Nodes with the costs of their strategies, in the form of ColossalAI, of XLA or of the "
          "contest. `operators solve` reads it.");
}

}  // namespace shardwright
