// A small instance in the format of the IOPDDL contest, made by make_contest.py.
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/io/file.h"
#include "runtime/io/operators/contest_json.h"
#include "runtime/operators/solve.h"
#include "tests/support/operators/naive_cost_solver.h"

namespace shardwright::operators_contest_test {

using namespace shardwright;
using operators::CostInstance;
using operators::LoweredInstance;
using operators::OperatorProblem;
using operators::SolveStatus;

TEST_CASE("contest: the optimum of a small instance is found and proved at every limit") {
  const Result<std::string> text = read_file("tests/golden/operators/contest_small.json");
  REQUIRE(text.ok());
  struct Known {
    std::optional<std::int64_t> limit;  // default: the limit in the file
    double optimum;                     // 0: no choice exists
  };
  for (const Known& known : {Known{std::nullopt, 15985}, Known{20000, 9339}, Known{12000, 11867},
                             Known{5778, 18570}, Known{5777, 0}}) {
    CAPTURE(known.optimum);
    const CostInstance instance = read_contest_instance(*text, known.limit).value();
    const auto naive = test_support::solve_naively(instance);
    const OperatorsResult result =
        solve_operators(OperatorProblem{LoweredInstance(instance)}).value();
    REQUIRE(naive.has_value() == (known.optimum > 0));
    if (!naive) {
      CHECK(result.status == SolveStatus::kInfeasible);
      continue;
    }
    CHECK(naive->cost == known.optimum);
    CHECK(result.status == SolveStatus::kOptimal);
    CHECK(result.objective == known.optimum);
    CHECK(result.lower_bound == known.optimum);
    const operators::CostEvaluation evaluation = evaluate(instance, result.choice);
    CHECK(evaluation.feasible());
    CHECK(evaluation.total() == known.optimum);
  }
}

}  // namespace shardwright::operators_contest_test
