#include "perf/instr/operator_regions.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/topology_costs.h"
#include "core/redistribution/placement/placement_notation.h"
#include "perf/support/workloads.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/autoshard_json.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/paths_json.h"
#include "runtime/io/program/program_json.h"
#include "runtime/operators/build.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/autoshard/solver.h"
#include "search/operators/solve/block_picker.h"
#include "search/operators/solve/block_solver.h"
#include "search/operators/solve/choice_graph.h"
#include "search/operators/solve/local_search.h"
#include "search/operators/solve/solve.h"
#include "search/operators/strategies/cost_graph.h"
#include "search/operators/strategies/reshard_path.h"
#include "search/redistribution/redistribution_planner.h"
#include "search/redistribution/step_costs.h"

namespace shardwright::perf {
namespace {

using namespace operators;

const std::string kOperators = "tests/golden/operators/";
const std::string kPrograms = "tests/golden/programs/";

Action build_resnet50() {
  const auto graph = std::make_shared<const OpGraph>(require(
      read_op_graph(require(read_file(kOperators + "graphs/resnet50_b128_32x32.json.gz")))));
  return [graph] {
    InlineExecutor executor;
    keep(require(build_cost_graph(*graph, require(parse_mesh("2x2")), executor)));
  };
}

std::function<Action()> solve_resnet50(std::optional<std::int64_t> budget_bytes) {
  return [budget_bytes]() -> Action {
    CostInstanceOptions options;
    options.budget = budget_bytes;
    const auto problem = std::make_shared<const OperatorProblem>(require(read_cost_instance(
        require(read_file(kOperators + "colossal_resnet50_2x2.json.gz")), options)));
    return [problem] {
      InlineExecutor executor;
      Budget budget({}, {}, {});
      keep(solve(problem->lowered.instance(), executor, budget));
    };
  };
}

// Solves blocks of the graph, beginning with the first feasible choice. The blocks have different
// shapes and are picked before the measurement.
Action solve_resnet50_blocks() {
  struct Prepared {
    explicit Prepared(OperatorProblem read)
        : problem(std::move(read)), graph(problem.lowered.instance()), state(graph) {}
    OperatorProblem problem;
    ChoiceGraph graph;
    SearchState state;
    std::vector<std::vector<std::uint32_t>> blocks;
  };
  CostInstanceOptions options;
  options.budget = 400'000'000;
  options.unmerged = true;
  const auto prepared = std::make_shared<Prepared>(require(read_cost_instance(
      require(read_file(kOperators + "colossal_resnet50_2x2.json.gz")), options)));
  Budget budget({}, {}, {});
  prepared->state.set_choice(first_feasible(prepared->graph, budget, 1).value());
  const BlockPicker picker(prepared->graph);
  BlockScratch scratch(prepared->graph);
  for (const BlockKind kind :
       {BlockKind::kBall, BlockKind::kWindow, BlockKind::kHolders, BlockKind::kStiff}) {
    for (std::uint64_t key = 1; key <= 8; ++key) {
      if (picker.pick(prepared->state, {kind, 40, 0}, scratch, key))
        prepared->blocks.push_back(scratch.block);
    }
  }
  return [prepared] {
    constexpr std::size_t kMaxTable = 20'000;
    BlockSolver solver(prepared->graph, kMaxTable);
    const std::vector<std::uint32_t>& choice = prepared->state.choice;
    for (const std::vector<std::uint32_t>& block : prepared->blocks)
      keep(solver.solve(prepared->state, choice, block, true, 1));
  };
}

std::function<Action()> find_paths(PathCost mode) {
  return [mode]() -> Action {
    const auto questions = std::make_shared<const std::vector<ReshardQuestions>>(
        require(read_reshard_questions(require(read_file(kOperators + "colossal_paths.json.gz")))));
    return [questions, mode] {
      for (const ReshardQuestions& asked : *questions) {
        SpecTable table(asked.mesh);
        ReshardPlanner planner(table, mode);
        const TensorShape* shape = table.shape(asked.shape);
        for (const ReshardQuestions::Pair& pair : asked.pairs)
          keep(planner.path(table.intern(shape, pair.from), table.intern(shape, pair.to)));
      }
    };
  };
}

Action autoshard_transformers() {
  const auto file = std::make_shared<const AutoshardFile>(
      require(read_autoshard(require(read_file(kOperators + "slapo_v2.json.gz")))));
  return [file] {
    for (const AutoshardEntry& entry : file->entries) {
      autoshard::Request request;
      request.graph = entry.graph;
      request.devices = *entry.devices;
      keep(require(autoshard::solve(request)));
    }
  };
}

std::function<Action()> reshard_cases(bool compat) {
  return [compat]() -> Action {
    const auto cases = std::make_shared<const std::vector<ReshardCaseDocument>>(require(
        read_reshard_cases(require(read_file(kPrograms + "paddle_reshard_cases.json.gz")))));
    return [cases, compat] {
      for (const ReshardCaseDocument& one : *cases) {
        TensorReshardOptions options;
        options.compat = compat;
        keep(reshard_tensor(one.request, options).ok());
      }
    };
  };
}

Action apply_programs() {
  const auto programs = std::make_shared<const std::vector<ProgramDocument>>(
      require(read_programs(require(read_file(kPrograms + "programs.json.gz")))));
  return [programs] {
    for (const ProgramDocument& document : *programs) {
      program::ReshardOptions options;
      options.whole = true;
      keep(require(reshard_program(document.program, options, 1)));
    }
  };
}

using Words = std::vector<std::string>;

// Pairs of placements that need several moves: another order of shards, or partial values on
// several axes.
std::vector<std::pair<Words, Words>> cold_pairs() {
  return {
      {{"S(0)[0]", "S(0)[1]", "S(1)", "R"}, {"S(0)[1]", "S(0)[0]", "R", "S(1)"}},
      {{"S(3)", "S(0)", "S(3)", "P(sum)"}, {"P(sum)", "S(2)", "S(3)", "S(1)"}},
      {{"P(sum)", "P(sum)", "P(sum)", "P(sum)"}, {"R", "R", "R", "R"}},
      {{"P(sum)", "P(sum)", "P(sum)", "P(sum)"}, {"S(2)", "P(sum)", "S(2)", "P(sum)"}},
      {{"S(2)", "R", "R", "R"}, {"P(sum)", "P(sum)", "P(sum)", "P(sum)"}},
      {{"S(0)", "S(2)", "S(1)", "S(3)"}, {"R", "S(3)", "S(1)[1]", "S(1)[0]"}},
      {{"P(sum)", "R", "P(sum)", "P(sum)"}, {"S(3)", "S(3)", "S(3)", "S(1)"}},
      {{"R", "R", "R", "R"}, {"S(0)", "S(1)", "S(2)", "S(3)"}},
  };
}

// Plans each pair with a new planner, which has no cached paths.
std::function<Action()> plan_cold(bool groups) {
  using namespace redistribution;
  struct Prepared {
    TensorOnMesh tensor{{2, 2, 2, 2}, {64, 128, 33, 16}};
    std::vector<std::pair<Placement, Placement>> pairs;
    DTensorCosts dtensor = DTensorCosts::make(tensor.mesh, 8).value();
    TopologyCosts links =
        TopologyCosts::make(tensor.mesh, {{8, 25}, {3, 100}, {3, 100}, {2, 300}}).value();
  };
  return [groups]() -> Action {
    const auto prepared = std::make_shared<Prepared>();
    for (const auto& [source, target] : cold_pairs()) {
      prepared->pairs.emplace_back(require(read_words(source, prepared->tensor.shape.size())),
                                   require(read_words(target, prepared->tensor.shape.size())));
    }
    return [prepared, groups] {
      const std::int64_t bytes = 4 * num_elements(prepared->tensor.shape);
      std::shared_ptr<const StepCosts> costs =
          std::make_shared<DTensorStepCosts>(prepared->dtensor, bytes);
      if (groups) {
        costs =
            std::make_shared<CollectiveStepCosts>(prepared->links, CollectiveStepCosts::Options());
      }
      for (const auto& [source, target] : prepared->pairs)
        keep(RedistributionPlanner(prepared->tensor, costs).path(source, target));
    };
  };
}

}  // namespace

std::vector<Region> operator_and_program_regions() {
  return {
      {"operators_build", "ResNet-50 on 2x2: 2,356 strategies, 195 edges, merged", build_resnet50},
      {"operators_solve", "ResNet-50 on 2x2 without a budget, proved", solve_resnet50({})},
      {"operators_solve_budget", "ResNet-50 on 2x2 within 400,000,000 bytes, proved",
       solve_resnet50(400'000'000)},
      {"operators_blocks", "ResNet-50 on 2x2 within 400,000,000 bytes, 32 blocks of 40 nodes",
       solve_resnet50_blocks},
      {"operators_paths", "1,044 recorded pairs, as ColossalAI finds paths",
       find_paths(PathCost::kCompat)},
      {"operators_paths_exact", "the same pairs, the cheapest paths", find_paths(PathCost::kExact)},
      {"operators_autoshard", "9 recorded models, optima proved", autoshard_transformers},
      {"redistribution_cold", "8 pairs on 2x2x2x2 under DTensor's costs, nothing known before",
       plan_cold(false)},
      {"redistribution_cold_groups", "the same pairs with groups of axes", plan_cold(true)},
      {"program_reshard", "252 recorded cases, cheapest, simulated", reshard_cases(false)},
      {"program_reshard_compat", "the same cases as Paddle has them", reshard_cases(true)},
      {"program_apply", "the 2 recorded programs on all ranks, outputs included", apply_programs},
  };
}

}  // namespace shardwright::perf
