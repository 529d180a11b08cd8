// Input: an operator graph, a list of single operators, or a graph for auto-sharding. All
// strategies are listed; written answers are read again and solved.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/io/operators/autoshard_json.h"
#include "runtime/io/operators/build_json.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/strategies_json.h"
#include "runtime/operators/autoshard.h"
#include "runtime/operators/build.h"
#include "runtime/operators/solve.h"
#include "search/operators/strategies/generate.h"
#include "search/operators/strategies/reshard_path.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

using namespace operators;

constexpr std::uint64_t kWorkLimit = 20'000;

std::optional<OperatorsResult> solved(const OperatorProblem& problem) {
  OperatorsOptions search;
  search.threads = 1;
  search.work_limit = kWorkLimit;
  Result<OperatorsResult> result = solve_operators(problem, search);
  expect(result.ok(), "a built graph can be solved");
  if (result->choice.empty()) return std::nullopt;
  const CostEvaluation evaluation = evaluate(problem.lowered.graph(), result->choice);
  expect(close(evaluation.total(), result->objective), "the objective is what the choice costs");
  return std::move(result).value();
}

void build(const OpGraph& graph, std::string_view mesh_text) {
  auto mesh = parse_mesh(mesh_text);
  const Result<BuiltOperators> built = build_operators(graph, std::move(mesh).value(), 1);
  if (!built.ok()) return expect(!built.error().message.empty(), "every error has a message");
  const std::string text =
      written_by([&](const TextSink& sink) { write_cost_graph(graph, built->costs, sink); });
  const Result<OperatorProblem> direct = lower(graph, built->costs);
  const Result<OperatorProblem> read = read_cost_instance(text);
  if (!direct.ok() || !read.ok()) return;
  const auto direct_answer = solved(*direct);
  const auto read_answer = solved(*read);
  if (!direct_answer || !read_answer) return;
  if (direct_answer->status == SolveStatus::kOptimal &&
      read_answer->status == SolveStatus::kOptimal) {
    expect(close(direct_answer->objective, read_answer->objective),
           "a built graph and its file have one optimum");
  }
}

void list_strategies(const std::vector<StrategyRecord>& records) {
  std::vector<NamedStrategies> answers;
  for (const StrategyRecord& record : records) {
    auto table = std::make_shared<SpecTable>(record.mesh);
    ReshardPlanner planner(*table, PathCost::kCompat);
    Result<NodeStrategies> strategies =
        generate_chain(record.graph, record.chain, record.options, *table, planner);
    if (!strategies.ok()) continue;
    answers.push_back({record.id, std::move(table), std::move(strategies).value()});
  }
  const std::string text =
      written_by([&](const TextSink& sink) { write_strategies(answers, sink); });
  expect(nlohmann::json::accept(text), "an answer is JSON");
}

void shard(const AutoshardFile& file) {
  std::vector<autoshard::Request> requests;
  for (const AutoshardEntry& entry : file.entries) {
    autoshard::Request request;
    request.graph = entry.graph;
    request.devices = entry.devices.value_or(4);
    request.model = entry.model.value_or(autoshard::CostModel::kV2);
    requests.push_back(std::move(request));
  }
  for (const Result<AutoshardAnswer>& answer : shardwright::autoshard(requests, 1)) {
    if (answer.ok()) continue;
    expect(answer.error().code != ErrorCode::kVerificationFailed, "search and verifier agree");
  }
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto graph = read_op_graph(text); graph.ok()) {
    fuzz::build(*graph, "2x2");
    fuzz::build(*graph, size % 2 == 0 ? "4" : "2x1x2");
    return fuzz::kDone;
  }
  if (const auto records = read_strategy_records(text); records.ok()) {
    fuzz::list_strategies(*records);
    return fuzz::kDone;
  }
  if (const auto file = read_autoshard(text); file.ok()) fuzz::shard(*file);
  return fuzz::kDone;
}
