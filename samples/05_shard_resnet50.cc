// What is the cheapest way to train ResNet-50 on 2 x 2 devices, and what does less memory cost?
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "runtime/io/file.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/operators/build.h"
#include "runtime/operators/solve.h"

using namespace shardwright;
using namespace shardwright::operators;

namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return 1;
}

std::int64_t held_bytes(const CostGraph& costs, const OperatorsResult& result) {
  std::int64_t bytes = 0;
  for (std::size_t n = 0; n < result.choice.size(); ++n)
    bytes += costs.strategies[n][result.choice[n]].budget_bytes();
  return bytes;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const char* path = argument_count > 1 ? arguments[1] : "samples/data/resnet50.json.gz";
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return fail(text.error());
  const Result<OpGraph> graph = read_op_graph(*text);
  if (!graph.ok()) return fail(graph.error());
  const Result<BuiltOperators> built = build_operators(*graph, *parse_mesh("2x2"));
  if (!built.ok()) return fail(built.error());
  const CostGraph& costs = built->costs;
  std::printf("%zu strategies of %zu nodes built in %.1f ms\n", costs.counters.strategies,
              graph->size(), 1000 * built->build_s);

  // The cost instance is built once. Each budget gives a new problem on this instance.
  bool complete = true;
  for (const std::optional<std::int64_t> budget :
       std::initializer_list<std::optional<std::int64_t>>{std::nullopt, 410'000'000, 400'000'000,
                                                          390'000'000}) {
    CostGraphForm form;
    form.budget = budget;
    const Result<OperatorProblem> problem = lower(*graph, costs, form);
    if (!problem.ok()) return fail(problem.error());
    const Result<OperatorsResult> result = solve_operators(*problem);
    if (!result.ok()) return fail(result.error());
    std::printf("%-10s ",
                budget ? (std::to_string(*budget / 1'000'000) + " MB").c_str() : "no limit");
    if (result->choice.empty()) {
      std::printf("%s\n", name_of(result->status));
    } else {
      std::printf("%s, cost %.2f, %.1f MB held\n", name_of(result->status), result->objective,
                  static_cast<double>(held_bytes(costs, *result)) / 1e6);
    }
    complete = complete && (result->status == SolveStatus::kOptimal ||
                            result->status == SolveStatus::kInfeasible);
  }
  return complete ? 0 : 1;
}
