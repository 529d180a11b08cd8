// How should the two layers of a perceptron be sharded over a mesh of 2 x 2 devices?
#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators/build.h"
#include "runtime/operators/solve.h"

using namespace shardwright;
using namespace shardwright::operators;

namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return 1;
}

OpNode make_node(std::string name, OpKind kind, Extents shape,
                 std::initializer_list<std::uint32_t> inputs = {}) {
  OpNode node;
  node.name = std::move(name);
  node.kind = kind;
  node.shapes = {std::move(shape)};
  node.inputs = inputs;
  if (!node.inputs.empty() && kind != OpKind::kOutput) node.call = OpCall::kFunction;
  node.is_param = kind == OpKind::kGetAttr;
  return node;
}

}  // namespace

int main() {
  // relu(x up' + b) down', where ' transposes: weights are [out, in]. The batch has 32 rows.
  OpGraphSpec spec;
  spec.name = "perceptron";
  spec.nodes = {make_node("x", OpKind::kPlaceholder, {32, 64}),
                make_node("up", OpKind::kGetAttr, {256, 64}),
                make_node("bias", OpKind::kGetAttr, {256}),
                make_node("down", OpKind::kGetAttr, {64, 256}),
                make_node("hidden", OpKind::kLinear, {32, 256}, {0, 1}),
                make_node("shifted", OpKind::kAdd, {32, 256}, {4, 2}),
                make_node("active", OpKind::kRelu, {32, 256}, {5}),
                make_node("y", OpKind::kLinear, {32, 64}, {6, 3}),
                make_node("output", OpKind::kOutput, {32, 64}, {7})};
  const Result<OpGraph> graph = OpGraph::make(std::move(spec));
  if (!graph.ok()) return fail(graph.error());

  // Lists every strategy of every operator, and the costs of resharding between them.
  const Result<BuiltOperators> built = build_operators(*graph, *parse_mesh("2x2"));
  if (!built.ok()) return fail(built.error());
  const CostGraph& costs = built->costs;

  // ColossalAI merges cheap operators into others before it solves. Here no operator is merged.
  CostGraphForm form;
  form.merged = false;
  const Result<OperatorProblem> problem = lower(*graph, costs, form);
  if (!problem.ok()) return fail(problem.error());
  const Result<OperatorsResult> result = solve_operators(*problem);
  if (!result.ok()) return fail(result.error());
  if (result->choice.empty()) return 1;

  std::printf("%s: a step costs %.2f\n\n", name_of(result->status), result->objective);
  double total = 0;
  for (std::size_t n = 0; n < graph->size(); ++n) {
    const Strategy& strategy = costs.strategies[n][result->choice[n]];
    std::printf("%-8s %-53s compute %9.0f, communication %9.2f\n", (*graph)[n].name.c_str(),
                costs.strategies[n].name(result->choice[n]).c_str(), strategy.compute.total,
                strategy.comm.total);
    total += strategy.compute.total + strategy.comm.total;
  }
  std::printf("\n");
  for (const CostEdge& edge : costs.edges) {
    const std::uint32_t from = result->choice[edge.first];
    const std::uint32_t to = result->choice[edge.second];
    const CostMatrix& matrix = costs.matrix(edge);
    const double cost = matrix.entries[std::size_t{from} * matrix.columns + to];
    total += cost;
    if (cost == 0) continue;
    std::printf("%s is resharded for %s: %.2f\n", (*graph)[edge.first].name.c_str(),
                (*graph)[edge.second].name.c_str(), cost);
  }
  const double difference = total - result->objective;
  return result->status == SolveStatus::kOptimal && difference < 1e-3 && difference > -1e-3 ? 0 : 1;
}
