#include "search/operators/strategies/cost_graph.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/interner.h"
#include "search/operators/strategies/generate.h"
#include "search/operators/strategies/reshard_path.h"

namespace shardwright::operators {
namespace {

struct EdgeCosts {
  std::vector<CostEdge> edges;    // by consumer, then by its inputs
  std::size_t num_computed = 0;   // computed matrices
  std::size_t num_questions = 0;  // path costs asked of the planner
};

using SpecPointer = const ShardingSpec*;

// The specs of an operand by strategy. Strategies with equal specs share a row.
struct SpecList {
  std::size_t width = 1;              // number of tensors of the operand
  std::vector<SpecPointer> rows;      // `width` specs each
  std::vector<std::uint32_t> row_of;  // by strategy: index of its row

  std::size_t num_rows() const { return rows.size() / width; }
  friend bool operator==(const SpecList&, const SpecList&) = default;
};

SpecList list_of(const NodeStrategies& strategies, const Operand& operand) {
  SpecList list;
  list.width = operand.shapes.size();
  list.row_of.reserve(strategies.size());
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    const std::span<const SpecPointer> row = strategies.specs(s, operand);
    std::size_t known = 0;
    while (known < list.num_rows() &&
           !std::equal(row.begin(), row.end(), list.rows.data() + known * list.width)) {
      ++known;
    }
    if (known == list.num_rows()) list.rows.insert(list.rows.end(), row.begin(), row.end());
    list.row_of.push_back(static_cast<std::uint32_t>(known));
  }
  return list;
}

std::uint64_t hash_of(const SpecList& list) {
  std::uint64_t hash = list.width;
  for (SpecPointer spec : list.rows)
    hash = hash_mix(hash, reinterpret_cast<std::uintptr_t>(spec));
  for (const std::uint32_t row : list.row_of)
    hash = hash_mix(hash, row);
  return hash;
}

// Distinct lists, numbered in the order in which they were first added.
// Thread safety: const members may be called from any thread.
class SpecLists {
 public:
  std::uint32_t intern(SpecList list) {
    const std::uint64_t hash = hash_of(list);
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      if (lists_[known->second] == list) return known->second;
    }
    const auto number = static_cast<std::uint32_t>(lists_.size());
    lists_.push_back(std::move(list));
    by_hash_.emplace(hash, number);
    return number;
  }
  const SpecList& operator[](std::uint32_t i) const { return lists_[i]; }

 private:
  std::vector<SpecList> lists_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

// What a matrix depends on: indices of two SpecLists, and the element size.
struct Question {
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t element_bytes;

  friend bool operator==(const Question&, const Question&) = default;
};

struct QuestionHash {
  std::size_t operator()(const Question& question) const {
    const std::uint64_t lists = (std::uint64_t{question.from} << 32) | question.to;
    return static_cast<std::size_t>(
        hash_mix(lists, static_cast<std::uint64_t>(question.element_bytes)));
  }
};

double conversion_cost(const SpecPointer* from, const SpecPointer* to, std::size_t width,
                       double element_bytes, ReshardPlanner& planner) {
  double sum = 0;
  for (std::size_t t = 0; t < width; ++t)
    sum += planner.cost(from[t], to[t]) * element_bytes;
  return sum;
}

CostMatrix compute(const SpecList& from, const SpecList& to, double element_bytes,
                   ReshardPlanner& planner) {
  SHARDWRIGHT_CHECK(from.width == to.width);
  const std::size_t width = from.width;
  std::vector<double> by_row;  // by pair of rows
  by_row.reserve(from.num_rows() * to.num_rows());
  for (std::size_t i = 0; i < from.num_rows(); ++i) {
    for (std::size_t j = 0; j < to.num_rows(); ++j) {
      by_row.push_back(conversion_cost(from.rows.data() + i * width, to.rows.data() + j * width,
                                       width, element_bytes, planner));
    }
  }
  CostMatrix matrix;
  matrix.rows = static_cast<std::uint32_t>(from.row_of.size());
  matrix.columns = static_cast<std::uint32_t>(to.row_of.size());
  matrix.entries.reserve(from.row_of.size() * to.row_of.size());
  for (const std::uint32_t i : from.row_of) {
    for (const std::uint32_t j : to.row_of)
      matrix.entries.push_back(by_row[i * to.num_rows() + j]);
  }
  return matrix;
}

// What the matrices of all edges depend on, each combination once.
struct Questions {
  SpecLists lists;
  std::vector<Question> distinct;
  std::vector<CostEdge> edges;  // `matrix` is an index into `distinct`
};

Questions ask(const OpGraph& graph, std::span<const NodeStrategies> strategies) {
  Questions questions;
  std::unordered_map<Question, std::uint32_t, QuestionHash> numbers;
  std::vector<std::uint32_t> outputs;
  outputs.reserve(graph.size());
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    for (std::size_t k = 0; k < graph[n].inputs.size(); ++k) {
      const std::uint32_t producer = graph[n].inputs[k];
      const Question question{
          outputs[producer],
          questions.lists.intern(list_of(strategies[n], strategies[n].operands()[k])),
          element_bytes(graph[producer].type)};
      const auto [found, added] =
          numbers.emplace(question, static_cast<std::uint32_t>(questions.distinct.size()));
      if (added) questions.distinct.push_back(question);
      questions.edges.push_back({producer, n, found->second});
    }
    outputs.push_back(questions.lists.intern(list_of(strategies[n], strategies[n].output())));
  }
  return questions;
}

// Makes one edge per node and input. Edges with equal matrices share one matrix. Entry [i][j] is
// the cost of converting the producer's output under strategy i to the consumer's operand under
// strategy j: the planner's total cost times the element size, summed over the tensors of a tuple.
// Edges with the same lists of specs on both sides are computed once. Precondition: every node has
// a strategy, and all specs are of the planner's table. The result does not depend on `executor`.
EdgeCosts compute_edge_costs(const OpGraph& graph, std::span<const NodeStrategies> strategies,
                             ReshardPlanner& planner, Executor& executor, MatrixPool& pool) {
  Questions questions = ask(graph, strategies);
  const std::vector<Question>& distinct = questions.distinct;
  std::vector<CostMatrix> matrices(distinct.size());
  executor.parallel_for(distinct.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t q = begin; q < end; ++q) {
      matrices[q] = compute(questions.lists[distinct[q].from], questions.lists[distinct[q].to],
                            static_cast<double>(distinct[q].element_bytes), planner);
    }
  });
  EdgeCosts costs;
  costs.num_computed = distinct.size();
  std::vector<std::uint32_t> interned;
  interned.reserve(distinct.size());
  for (std::size_t q = 0; q < distinct.size(); ++q) {
    const SpecList& from = questions.lists[distinct[q].from];
    costs.num_questions += from.rows.size() * questions.lists[distinct[q].to].num_rows();
    interned.push_back(pool.intern(std::move(matrices[q])));
  }
  costs.edges = std::move(questions.edges);
  for (CostEdge& edge : costs.edges)
    edge.matrix = interned[edge.matrix];
  return costs;
}

Status check_strategies(const OpGraph& graph, std::span<const NodeStrategies> strategies) {
  for (std::size_t n = 0; n < strategies.size(); ++n) {
    if (!strategies[n].empty()) continue;
    return Error{ErrorCode::kInfeasible,
                 "no allowed strategy shards \"" + graph[n].name + "\" evenly over the mesh",
                 "/nodes/" + std::to_string(n)};
  }
  return {};
}

MergedGraph merge(const OpGraph& graph, CostGraph& costs) {
  std::vector<std::uint32_t> num_strategies;
  std::vector<bool> may_merge;
  num_strategies.reserve(graph.size());
  may_merge.reserve(graph.size());
  for (std::size_t n = 0; n < graph.size(); ++n) {
    num_strategies.push_back(static_cast<std::uint32_t>(costs.strategies[n].size()));
    may_merge.push_back(mergeable(graph[n]));
  }
  return merge_nodes(num_strategies, may_merge, costs.edges, costs.matrices);
}

// Returns the aliases of repeated blocks. Leaves out nodes that differ in their number of
// strategies: node_classes() treats modules of one type as equal whatever their sizes.
std::vector<NodeAlias> find_aliases(const OpGraph& graph, const CostGraph& costs) {
  std::vector<NodeAlias> aliases = block_aliases(find_repeated_blocks(node_classes(graph)));
  std::erase_if(aliases, [&](const NodeAlias& alias) {
    return costs.merged.follows[alias.node] == MergedGraph::kNone &&
           costs.strategies[alias.node].size() != costs.strategies[alias.of].size();
  });
  return aliases;
}

std::vector<std::uint32_t> leaders(const CostGraph& costs, bool merged) {
  std::vector<std::uint32_t> leaders(costs.strategies.size());
  std::iota(leaders.begin(), leaders.end(), 0U);
  if (!merged) return leaders;
  for (const NodeAlias& alias : costs.aliases)
    leaders[alias.node] = alias.of;
  for (std::size_t n = 0; n < leaders.size(); ++n) {
    if (costs.merged.follows[n] != MergedGraph::kNone) leaders[n] = costs.merged.follows[n];
  }
  return leaders;
}

void add_node(const OpNode& node, const NodeStrategies& strategies, std::span<const double> extra,
              CostInstanceSpec& spec) {
  CostInstanceSpec::Usage usage{static_cast<std::uint32_t>(spec.nodes.size()), {0, 1}, {}};
  CostInstanceSpec::Node described{node.name, {}};
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    double cost = strategies[s].compute.total + strategies[s].comm.total;
    if (!extra.empty()) cost += extra[s];
    described.costs.push_back(cost);
    usage.bytes.push_back(strategies[s].budget_bytes());
  }
  spec.nodes.push_back(std::move(described));
  spec.usages.push_back(std::move(usage));
}

}  // namespace

Result<CostGraph> build_cost_graph(const OpGraph& graph, std::shared_ptr<const DeviceMesh> mesh,
                                   Executor& executor) {
  CostGraph costs;
  costs.table = std::make_shared<SpecTable>(std::move(mesh));
  ReshardPlanner planner(*costs.table, PathCost::kCompat);
  SHARDWRIGHT_ASSIGN_OR_RETURN(costs.strategies,
                               generate_strategies(graph, *costs.table, planner, executor));
  SHARDWRIGHT_RETURN_IF_ERROR(check_strategies(graph, costs.strategies));
  EdgeCosts edge_costs =
      compute_edge_costs(graph, costs.strategies, planner, executor, costs.matrices);
  costs.edges = std::move(edge_costs.edges);
  costs.merged = merge(graph, costs);
  costs.aliases = find_aliases(graph, costs);

  CostGraphCounters& counters = costs.counters;
  for (const NodeStrategies& strategies : costs.strategies)
    counters.strategies += strategies.size();
  for (const CostEdge& edge : costs.edges)
    counters.matrix_entries += costs.matrix(edge).entries.size();
  counters.dim_specs = std::size_t{1} << costs.table->mesh().num_axes();
  counters.shapes = costs.table->num_shapes();
  counters.specs = costs.table->num_specs();
  counters.path_searches = planner.num_searches();
  counters.path_questions = edge_costs.num_questions;
  counters.matrices_computed = edge_costs.num_computed;
  counters.matrices = costs.matrices.size();
  return costs;
}

Result<OperatorProblem> lower(const OpGraph& graph, const CostGraph& costs,
                              const CostGraphForm& form) {
  CostInstanceSpec spec;
  if (form.budget) spec.limits.push_back(*form.budget);
  std::vector<std::vector<std::string>> names;
  for (std::size_t n = 0; n < graph.size(); ++n) {
    const std::span<const double> extra =
        form.merged ? std::span<const double>(costs.merged.extra[n]) : std::span<const double>();
    add_node(graph[n], costs.strategies[n], extra, spec);
    std::vector<std::string>& node_names = names.emplace_back();
    for (std::size_t s = 0; s < costs.strategies[n].size(); ++s)
      node_names.push_back(costs.strategies[n].name(s));
  }
  spec.edges = form.merged ? costs.merged.edges : costs.edges;
  spec.matrices = costs.matrices.matrices();
  SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(spec));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      LoweredInstance lowered,
      LoweredInstance::make(std::move(instance), std::move(spec), leaders(costs, form.merged)));
  OperatorProblem problem(std::move(lowered));
  problem.strategy_names = std::move(names);
  return problem;
}

}  // namespace shardwright::operators
