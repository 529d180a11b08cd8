// Input: a problem and a plan file that may be forged. What the verifier accepts must be true.
#include <optional>
#include <string>

#include "runtime/embedding/planner.h"
#include "runtime/embedding/reuse.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/verify_file.h"
#include "tests/fuzz/mutator/documents.h"
#include "tests/fuzz/targets/embedding_input.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

// Returns the rating of a plan that the planner finds without the file, or nullopt.
std::optional<double> rating_of(const std::string& text, const ProblemPointer& problem) {
  static std::string known_text;
  static std::optional<double> known;
  if (text == known_text) return known;
  const Result<EmbeddingPlanResult> result = plan_embedding(problem, short_search(PlanMode::kBest));
  known_text = text;
  known = result.ok() ? result->best_rating : std::nullopt;
  return known;
}

void expect_true(const PlanDocument& document, const Verification& verification,
                 std::optional<double> rating) {
  if (verification.has_plan) {
    expect(verification.evaluation.valid(), "a verified plan breaks no rule");
    expect(!document.best_rating || close(*document.best_rating, verification.evaluation.rating),
           "a verified rating is the plan's");
  }
  if (document.lower_bound && rating) {
    expect(*document.lower_bound <= *rating * (1 + 1e-9), "no plan rates below a verified bound");
  }
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const auto documents = fuzz::split_documents(fuzz::text_of(data, size));
  if (documents.size() != 2) return fuzz::kRejected;
  const Result<PlanDocument> document = read_plan(documents[1]);
  if (!document.ok()) return fuzz::kDone;
  const fuzz::ProblemPointer problem = fuzz::read_small_problem(documents[0]);
  if (problem == nullptr) return fuzz::kDone;
  const Result<Verification> verification = verify_plan_file(problem, documents[1]);
  if (verification.ok() && verification->verified()) {
    fuzz::expect_true(*document, *verification, fuzz::rating_of(documents[0], problem));
  }
  const Result<Reuse> reuse =
      reuse_plan(problem, *document, document->mode.value_or(PlanMode::kBest));
  if (reuse.ok()) {
    fuzz::expect(reuse->result.has_value() == reuse->why_not.empty(), "a refusal has a reason");
  }
  return fuzz::kDone;
}
