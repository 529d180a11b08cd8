// The instances of the IOPDDL contest, which are third-party data outside of the project. CMake
// registers this test if they are present.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "runtime/io/file.h"
#include "runtime/io/operators/contest_json.h"
#include "runtime/operators/solve.h"

namespace shardwright::operators_contest_large_test {

using namespace shardwright;
using operators::CostInstance;
using operators::LoweredInstance;
using operators::OperatorProblem;
using operators::SolveStatus;

namespace {

CostInstance instance_of(const std::string& letter) {
  const char* const folder = std::getenv("SHARDWRIGHT_IOPDDL_DIR");
  REQUIRE(folder != nullptr);
  const Result<std::string> text =
      read_file(std::string(folder) + "/asplos-2025-iopddl-" + letter + ".json.gz");
  if (!text.ok()) FAIL(text.error().to_string());
  Result<CostInstance> instance = read_contest_instance(*text);
  if (!instance.ok()) FAIL(instance.error().to_string());
  return std::move(instance).value();
}

struct Known {
  const char* letter;
  double best;   // the lowest cost known
  double share;  // the relative excess that an answer may have
  double gap;    // the part of the cost that its bound may be below it
  std::uint64_t work;
};

}  // namespace

TEST_CASE("contest: the optima of A, B, G and P are found and proved") {
  for (const auto& known : {std::pair("A", 6548553650.0), std::pair("B", 532843.0),
                            std::pair("G", 217039.0), std::pair("P", 651833115436.0)}) {
    const char* const letter = known.first;
    const double optimum = known.second;
    CAPTURE(letter);
    const CostInstance instance = instance_of(letter);
    const OperatorProblem problem{LoweredInstance(instance)};
    const OperatorsResult result = solve_operators(problem).value();
    CHECK(result.status == SolveStatus::kOptimal);
    CHECK(result.objective == optimum);
    CHECK(result.lower_bound == optimum);
    const operators::CostEvaluation evaluation = evaluate(instance, result.choice);
    CHECK(evaluation.feasible());
    CHECK(evaluation.total() == optimum);
  }
}

TEST_CASE(
    "contest: large instances have an answer early, and a good one and a bound within the work "
    "limit") {
  for (const Known& known : {Known{"K", 2122001816.0, 0.05, 0.07, 6'000'000'000},
                             Known{"M", 49923404194.0, 0.02, 0.02, 3'000'000'000},
                             Known{"N", 198463064066.0, 0.05, 0.07, 6'000'000'000},
                             Known{"S", 1511379506.0, 0.02, 0.02, 3'000'000'000},
                             Known{"U", 2160562151.0, 0.05, 0.07, 7'000'000'000},
                             Known{"L", 1967946965.0, 0.25, 1, 3'000'000'000},
                             Known{"V", 1617084.0, 0.25, 1, 3'000'000'000}}) {
    CAPTURE(std::string(known.letter));
    const CostInstance instance = instance_of(known.letter);
    const OperatorProblem problem{LoweredInstance(instance)};
    OperatorsOptions early;  // an answer within a fifth of the work
    early.work_limit = known.work / 5;
    CHECK_FALSE(solve_operators(problem, early).value().choice.empty());
    OperatorsOptions options;
    options.work_limit = known.work;
    const OperatorsResult result = solve_operators(problem, options).value();
    REQUIRE(!result.choice.empty());
    const operators::CostEvaluation evaluation = evaluate(instance, result.choice);
    CHECK(evaluation.feasible());
    CHECK(evaluation.total() == result.objective);
    CHECK(result.lower_bound <= known.best);
    CHECK(result.objective <= known.best * (1 + known.share));
    CHECK(result.lower_bound >= result.objective * (1 - known.gap));
  }
}

}  // namespace shardwright::operators_contest_large_test
