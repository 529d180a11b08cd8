#include "tests/fuzz/targets/embedding_input.h"

#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

constexpr std::int64_t kMostRanks = 256;
constexpr std::size_t kMostTables = 64;
constexpr std::uint64_t kWorkLimit = 3'000;

}  // namespace

ProblemPointer read_valid_problem(std::string_view text) {
  Result<embedding::ProblemSpec> spec = read_problem(text);
  if (!spec.ok()) {
    expect(!spec.error().message.empty(), "every error has a message");
    return nullptr;
  }
  Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec).value());
  if (!problem.ok()) {
    expect(!problem.error().message.empty(), "every error has a message");
    return nullptr;
  }
  return std::make_shared<const embedding::Problem>(std::move(problem).value());
}

bool is_small(const embedding::Problem& problem) {
  return problem.topology().world_size() <= kMostRanks && problem.tables().size() <= kMostTables;
}

ProblemPointer read_small_problem(std::string_view text) {
  ProblemPointer problem = read_valid_problem(text);
  return problem != nullptr && is_small(*problem) ? problem : nullptr;
}

PlanOptions short_search(PlanMode mode) {
  PlanOptions options;
  options.mode = mode;
  options.threads = 1;
  options.work_limit = kWorkLimit;
  return options;
}

PlanDocument document_of(const embedding::Problem& problem, const EmbeddingPlanResult& result) {
  const std::string text =
      written_by([&](const TextSink& sink) { write_plan(problem, result, {}, sink); });
  expect(nlohmann::json::accept(text), "a plan file is JSON");
  Result<PlanDocument> document = read_plan(text);
  expect(document.ok(), "a plan file can be read");
  return std::move(document).value();
}

void expect_sound(const ProblemPointer& problem, const EmbeddingPlanResult& result,
                  const SpacePointer& space) {
  const PlanDocument document = document_of(*problem, result);
  const Result<Verification> verification = verify_plan(problem, document, space);
  if (!result.plan) {
    expect(!result.best_rating, "no rating without a plan");
    return;
  }
  expect(verification.ok(), "a problem that was planned can be verified");
  // Compat mode reports if TorchRec's memory-balanced partitioner exceeds memory.
  if (result.mode == PlanMode::kCompat && !result.evaluation.valid()) return;
  for (const Verification::Finding& finding : verification->violations)
    expect(false, "a plan verifies; " + finding.where + ": " + finding.message);
  expect(close(*result.best_rating, verification->evaluation.rating),
         "the rating is the verifier's");
  if (result.lower_bound) {
    expect(*result.lower_bound <= *result.best_rating * (1 + 1e-9),
           "the bound is below the rating");
  }
}

}  // namespace shardwright::fuzz
