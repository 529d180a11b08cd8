// Input: a problem. Its identity does not depend on its notation, and it can be planned.
#include <nlohmann/json.hpp>

#include "runtime/embedding/identity.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/problem_diff.h"
#include "runtime/io/json/json_document.h"
#include "tests/fuzz/targets/embedding_input.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

// Expects the same identity for another order of keys and other white space.
void expect_same_identity(std::string_view text, const embedding::Problem& problem) {
  const nlohmann::json tree = nlohmann::json::parse(text, nullptr, false);
  expect(!tree.is_discarded(), "what is read is JSON");
  const ProblemPointer again = read_valid_problem(tree.dump(2));
  expect(again != nullptr, "a problem is valid in another notation");
  expect(identify(problem) == identify(*again), "the notation does not change the identity");
  expect(diff_problems(problem, *again).same(), "the notation makes no difference");
}

void plan(const ProblemPointer& problem, PlanMode mode) {
  const Result<EmbeddingPlanResult> result = plan_embedding(problem, short_search(mode));
  if (result.ok()) return expect_sound(problem, *result, nullptr);
  expect(!result.error().message.empty(), "every error has a message");
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const std::string_view text = fuzz::text_of(data, size);
  const fuzz::ProblemPointer problem = fuzz::read_valid_problem(text);
  if (problem == nullptr) return fuzz::kDone;
  fuzz::expect_same_identity(text, *problem);
  if (!fuzz::is_small(*problem)) return fuzz::kDone;
  fuzz::plan(problem, PlanMode::kCompat);
  fuzz::plan(problem, PlanMode::kBest);
  return fuzz::kDone;
}
