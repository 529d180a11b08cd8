// Input: a problem and a plan in use. replan's answer is a plan that costs no more than staying.
#include <array>
#include <cstdint>

#include "runtime/embedding/replan.h"
#include "runtime/embedding/reuse.h"
#include "runtime/io/embedding/plan_json.h"
#include "tests/fuzz/mutator/documents.h"
#include "tests/fuzz/targets/embedding_input.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

constexpr std::array<double, 3> kWeights{0, 0.5, 1000};
constexpr double kBytesPerGib = 1 << 30;

void expect_no_loss(const EmbeddingPlanResult& result) {
  if (!result.migration || !result.plan) return;
  const Migration& migration = *result.migration;
  expect(migration.moved_bytes >= 0 && migration.placed_bytes >= 0, "bytes are not negative");
  // A plan in use that lacks new tables cannot stay as it is.
  const bool could_stay = migration.rating_before && migration.not_kept.empty();
  if (!could_stay || migration.placed_bytes > 0) return;
  const double cost = *result.best_rating +
                      migration.weight * static_cast<double>(migration.moved_bytes) / kBytesPerGib;
  expect(cost <= *migration.rating_before * (1 + 1e-9), "an answer costs no more than staying");
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const auto documents = fuzz::split_documents(fuzz::text_of(data, size));
  if (documents.size() != 2) return fuzz::kRejected;
  const Result<PlanDocument> old = read_plan(documents[1]);
  if (!old.ok() || !old->plan) return fuzz::kDone;
  const fuzz::ProblemPointer problem = fuzz::read_small_problem(documents[0]);
  if (problem == nullptr) return fuzz::kDone;
  ReplanOptions options;
  options.plan = fuzz::short_search(PlanMode::kBest);
  options.migration_weight = fuzz::kWeights[size % fuzz::kWeights.size()];
  options.best_mode_rating = best_mode_rating(*problem, nullptr, *old);
  const auto result = replan_embedding(problem, *old->plan, options);
  if (!result.ok()) return fuzz::kDone;
  fuzz::expect_sound(problem, *result, nullptr);
  fuzz::expect_no_loss(*result);
  return fuzz::kDone;
}
