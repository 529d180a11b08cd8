// The messages that explain why there is no plan.
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"

namespace shardwright::plan_failures_test {

namespace {

using namespace shardwright;
using embedding::Problem;

PlanFailure failure_of(const std::string& text, PlanMode mode = PlanMode::kBest) {
  const auto spec = read_problem(text);
  REQUIRE(spec.ok());
  PlanOptions options;
  options.mode = mode;
  options.work_limit = 1'000'000;
  const auto result =
      plan_embedding(std::make_shared<const Problem>(*Problem::make(*spec)), options);
  REQUIRE(result.ok());
  REQUIRE(result->failure.has_value());
  return *result->failure;
}

bool says(const PlanFailure& failure, const std::string& words) {
  return failure.message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("failure: what a certificate proves is not called possible beside that") {
  // Only HBM is short; DDR has room.
  const std::string text = R"({"topology": {"world_size": 2}, "batch_size": 1024,
    "tables": [{"name": "a", "num_embeddings": 40000000, "embedding_dim": 256},
               {"name": "b", "num_embeddings": 40000000, "embedding_dim": 256}],
    "constraints": {"a": {"compute_kernels": ["fused"]}, "b": {"compute_kernels": ["fused"]}}})";
  const PlanFailure failure = failure_of(text);
  CHECK(failure.reason == FailureReason::kNotEnoughMemory);
  CHECK(failure.proof == AbsenceProof::kCertificate);
  CHECK(says(failure, "No proposal that was tried fits in total: the smallest proposal needs"));
  CHECK(says(failure, ". No plan fits, which the certificate proves."));
  CHECK_FALSE(says(failure, "might"));
}

TEST_CASE("failure: what an error says is a sentence, before others and alone") {
  const std::string rules = R"({"topology": {"world_size": 2},
    "tables": [{"name": "t", "num_embeddings": 1000000, "embedding_dim": 512}],
    "constraints": {"t": {"sharding_types": ["table_column_wise"], "compute_kernels": ["fused"],
                          "min_partition": 32, "distinct_ranks": true}}})";
  const PlanFailure joined = failure_of(rules);
  CHECK(joined.reason == FailureReason::kPlacementRules);
  CHECK(says(joined, "for the shards of any option. No plan fits, which the certificate proves."));
  const std::string reservation = R"({"topology": {"world_size": 2, "hbm_cap": 1048576},
    "reservation": {"type": "heuristical", "percentage": 1},
    "tables": [{"name": "t", "num_embeddings": 1000, "embedding_dim": 64}]})";
  for (const PlanMode mode : {PlanMode::kBest, PlanMode::kCompat}) {
    const PlanFailure alone = failure_of(reservation, mode);
    CHECK(alone.reason == FailureReason::kNegativeReservation);
    CHECK(alone.message.ends_with("."));
    CHECK_FALSE(alone.message.ends_with(".."));
  }
}

}  // namespace shardwright::plan_failures_test
