#include "perf/support/solver_cases.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "perf/support/workloads.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/instance_json.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/explore.h"
#include "search/operators/solve/choice_graph.h"
#include "search/operators/solve/local_search.h"
#include "search/operators/solve/solve.h"
#include "search/random.h"

namespace shardwright::perf {
namespace {

using namespace operators;

// The form of a generated instance. Nodes have edges to earlier nodes and hold memory for some
// time.
struct Shape {
  std::uint32_t nodes;
  std::uint32_t strategies;
  std::uint32_t edges;             // from a node to earlier nodes
  std::uint32_t reach;             // an edge goes back by at most this many nodes
  std::uint32_t most_held;         // longest time that memory is held; a node is one time point
  double slack;                    // memory limit / peak if every node takes its lightest strategy
  std::uint64_t forbidden_one_in;  // one in so many pairs of strategies of an edge is forbidden
};

struct NamedShape {
  std::string_view name;
  Shape shape;
};

constexpr std::array kSolved{NamedShape{"narrow", {50, 7, 2, 3, 10, 1.25, 32}},
                             NamedShape{"wide", {44, 4, 2, 60, 4, 1.6, 32}},
                             NamedShape{"dense", {40, 4, 3, 60, 3, 2, 32}}};
constexpr std::array kSearchedLocally{NamedShape{"sparse", {600, 8, 1, 24, 60, 1.3, 32}},
                                      NamedShape{"large", {500, 5, 2, 6, 40, 1.4, 64}}};

double random_cost(RandomGenerator& random) { return 1 + random.below(1000); }

// The pair of strategies 0 and 0 is never forbidden, so a choice within the limits exists.
CostInstanceSpec::Matrix random_pairs(const Shape& shape, RandomGenerator& random) {
  CostInstanceSpec::Matrix matrix{shape.strategies, shape.strategies, {}};
  for (std::uint32_t row = 0; row < shape.strategies; ++row) {
    for (std::uint32_t column = 0; column < shape.strategies; ++column) {
      const bool forbidden = random.below(shape.forbidden_one_in) == 0 && row + column > 0;
      matrix.entries.push_back(forbidden              ? kForbidden
                               : random.below(2) == 0 ? 0
                                                      : 3 * random_cost(random));
    }
  }
  return matrix;
}

CostInstanceSpec::Usage random_usage(const Shape& shape, std::uint32_t node,
                                     RandomGenerator& random) {
  CostInstanceSpec::Usage usage{node, {node, node + 1 + random.below(shape.most_held)}, {}};
  usage.live.end = std::min(usage.live.end, shape.nodes);
  const std::int64_t least = 100 + random.below(1000);
  for (std::uint32_t s = 0; s < shape.strategies; ++s)
    usage.bytes.push_back(s == 0 ? least : least + least * random.below(300) / 100);
  return usage;
}

CostInstance generate(const Shape& shape) {
  RandomGenerator random(1);
  CostInstanceSpec spec;
  std::vector<std::int64_t> held(shape.nodes, 0);
  for (std::uint32_t n = 0; n < shape.nodes; ++n) {
    CostInstanceSpec::Node& node = spec.nodes.emplace_back();
    for (std::uint32_t s = 0; s < shape.strategies; ++s)
      node.costs.push_back(random_cost(random));
    for (std::uint32_t e = 0; e < std::min(n, shape.edges); ++e) {
      const std::uint32_t other = n - 1 - random.below(std::min(n, shape.reach));
      spec.edges.push_back({other, n, static_cast<std::uint32_t>(spec.matrices.size())});
      spec.matrices.push_back(random_pairs(shape, random));
    }
    const CostInstanceSpec::Usage& usage = spec.usages.emplace_back(random_usage(shape, n, random));
    for (std::uint32_t t = usage.live.begin; t < usage.live.end; ++t)
      held[t] += usage.bytes[0];
  }
  const double peak = static_cast<double>(*std::max_element(held.begin(), held.end()));
  spec.limits.assign(shape.nodes, static_cast<std::int64_t>(shape.slack * peak));
  return require(CostInstance::make(std::move(spec)));
}

SolverOutcome solve_whole(const CostInstance& instance, std::uint64_t seed, std::uint64_t work,
                          const SolverParameters& parameters) {
  InlineExecutor executor;
  Budget budget(work, {});
  SolveOptions options;
  options.seed = seed;
  const SolveResult result = solve(instance, executor, budget, options, parameters);
  return {result.status == SolveStatus::kOptimal || result.status == SolveStatus::kInfeasible,
          !result.choice.empty(), result.objective, result.lower_bound, budget.work_done()};
}

SolverOutcome search_locally(const CostInstance& instance, std::uint64_t seed, std::uint64_t work,
                             const SolverParameters& parameters) {
  const ChoiceGraph graph(instance);
  InlineExecutor executor;
  Budget budget(work, {});
  auto choice = first_feasible(graph, budget, seed, parameters.feasible);
  if (!choice) return {false, false, 0, 0, budget.work_done()};
  LocalSearchOptions options;
  options.seed = seed;
  LocalSearch search(graph, *choice, executor.workers(), std::move(options), parameters.local);
  explore(search, executor, budget);
  return {false, true, search.best_cost(), 0, budget.work_done()};
}

SolverOutcome solve_file(const std::string& path, std::optional<std::int64_t> limit_bytes,
                         std::uint64_t seed, std::uint64_t work,
                         const SolverParameters& parameters) {
  CostInstanceOptions options;
  options.budget = limit_bytes;
  const OperatorProblem problem = require(read_cost_instance(require(read_file(path)), options));
  return solve_whole(problem.lowered.instance(), seed, work, parameters);
}

}  // namespace

SolverOutcome solve_case(const std::string& name, std::uint64_t seed, std::uint64_t work,
                         const SolverParameters& parameters) {
  if (name == "resnet") {
    return solve_file("tests/golden/operators/colossal_resnet50_2x2.json.gz", 400'000'000, seed,
                      work, parameters);
  }
  for (const NamedShape& known : kSolved) {
    if (name == known.name) return solve_whole(generate(known.shape), seed, work, parameters);
  }
  for (const NamedShape& known : kSearchedLocally) {
    if (name == known.name) return search_locally(generate(known.shape), seed, work, parameters);
  }
  if (name.find_first_of("./") == std::string::npos)
    stop_with(invalid_input(name, "is neither a case nor the path of a cost instance"));
  return solve_file(name, std::nullopt, seed, work, parameters);
}

}  // namespace shardwright::perf
