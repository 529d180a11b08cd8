// The verifier accepts every plan that the planner returns.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/embedding/evaluate.h"
#include "runtime/embedding/memory_parts.h"
#include "runtime/embedding/planner.h"
#include "tests/support/embedding/random_embedding.h"
#include "tests/support/random.h"

namespace shardwright::embedding_plan_property_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// TorchRec's memory-balanced partitioner has one memory limit for all ranks. If ranks differ in
// memory, its plans, and those of compat mode, may exceed the memory of a small rank.
bool may_overfill(const Problem& problem, const Topology& available) {
  return problem.spec().partitioner.type == PartitionerSpec::Type::kMemoryBalanced &&
         !available.uniform();
}

bool all_of_kind(const Evaluation& evaluation, Violation::Kind kind) {
  for (const Violation& violation : evaluation.violations) {
    if (violation.kind != kind) return false;
  }
  return true;
}

struct Seen {
  std::size_t plans = 0;
  std::size_t failures = 0;
  std::size_t devices[3] = {0, 0, 0};
  std::size_t kinds[2] = {0, 0};
  std::size_t types[7] = {0, 0, 0, 0, 0, 0, 0};
  std::size_t kernels[11] = {};

  void count(const Problem& problem, const Plan& plan) {
    ++plans;
    ++devices[static_cast<std::size_t>(problem.topology().compute_device())];
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const ShardingOption& option = *plan[i].option;
      ++kinds[static_cast<std::size_t>(problem.table(option.table).kind)];
      ++types[static_cast<std::size_t>(option.sharding_type)];
      ++kernels[static_cast<std::size_t>(option.compute_kernel)];
    }
  }
};

void check_failure(const EmbeddingPlanResult& result) {
  REQUIRE(result.failure.has_value());
  CHECK_FALSE(result.best_rating.has_value());
  CHECK_FALSE(result.failure->message.empty());
}

void check_plan(const Problem& problem, const EmbeddingPlanResult& result) {
  REQUIRE(result.best_rating.has_value());
  CHECK_FALSE(result.failure.has_value());
  const Topology& available = result.reservation->topology;
  const Evaluation evaluation = evaluate(problem, available, *result.plan);
  CHECK(evaluation.rating == *result.best_rating);
  CHECK(evaluation.rating == result.evaluation.rating);
  CHECK(evaluation.violations.size() == result.evaluation.violations.size());
  for (const Violation& violation : evaluation.violations)
    INFO(violation.message);
  if (may_overfill(problem, available)) {
    CHECK(all_of_kind(evaluation, Violation::Kind::kOutOfMemory));
  } else {
    CHECK(evaluation.valid());
  }
}

// Returns the problem with reserved memory, a margin and measured kernels.
std::shared_ptr<const Problem> limited(Random& random, const Problem& problem) {
  ProblemSpec spec = problem.spec();
  for (const Storage& rank : problem.topology().storage()) {
    spec.memory.reserved_bytes.hbm.push_back(static_cast<std::int64_t>(random.below(3)) *
                                             (rank.hbm.value() / 16));
    spec.memory.reserved_bytes.ddr.push_back(rank.ddr.value() / 32);
  }
  if (random.below(2) == 0) {
    spec.memory.margins.hbm.fraction = static_cast<double>(1 + random.below(20)) / 64;
  } else {
    spec.memory.margins.hbm.bytes = 1 + problem.topology().storage().front().hbm.value() / 9;
  }
  spec.memory.margins.ddr.fraction = static_cast<double>(random.below(4)) / 16;
  for (const ComputeKernel kernel : {ComputeKernel::kFused, ComputeKernel::kDense}) {
    KernelCalibration& measured = spec.calibration.kernels.emplace_back();
    measured.kernel = kernel;
    measured.time.points = {{4, 0.5}, {64, 1.5}};
    measured.memory = 1 + static_cast<double>(random.below(3)) / 8;
  }
  return std::make_shared<const Problem>(Problem::make(std::move(spec)).value());
}

}  // namespace

TEST_CASE("planner: every plan leaves the margin and the reserved memory free") {
  for (const std::uint64_t seed : seeds({23})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    PlanOptions options;
    options.mode = PlanMode::kCompat;
    options.threads = 1;
    std::size_t plans = 0;
    for (int i = 0; i < 1500; ++i) {
      INFO("problem ", i);
      const auto problem = limited(random, *random_problem(random, {.max_tables = 6}));
      const Result<EmbeddingPlanResult> result = plan_embedding(problem, options);
      if (!result.ok() || !result->plan) continue;
      check_plan(*problem, *result);
      if (may_overfill(*problem, result->reservation->topology)) continue;
      ++plans;
      const auto by_rank = memory_parts(*problem, *result->reservation, result->evaluation);
      for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        const MemoryParts& parts = by_rank[rank];
        CHECK(parts.capacity == parts.peak() + parts.margin + parts.free);
        if (parts.tables == Storage()) continue;
        CHECK(parts.free.hbm >= Bytes(0));
        CHECK(parts.free.ddr >= Bytes(0));
        CHECK((parts.peak() + parts.margin).fits_in(parts.capacity));
      }
    }
    CHECK(plans > 200);
  }
}

TEST_CASE("planner: every plan passes the verifier, and its rating is the verifier's") {
  for (const std::uint64_t seed : seeds({21, 22})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    RandomProblemStyle style;
    style.max_tables = 8;
    style.scaleup = true;
    Seen seen;
    PlanOptions options;
    options.mode = PlanMode::kCompat;
    options.threads = 1;
    for (int i = 0; i < 4000; ++i) {
      INFO("problem ", i);
      const auto problem = random_problem(random, style);
      const Result<EmbeddingPlanResult> result = plan_embedding(problem, options);
      if (!result.ok()) continue;  // constraints that leave no option
      if (!result->plan) {
        check_failure(*result);
        ++seen.failures;
        continue;
      }
      check_plan(*problem, *result);
      seen.count(*problem, *result->plan);
    }
    CHECK(seen.plans > 1000);
    CHECK(seen.failures > 400);
    for (const std::size_t count : seen.devices)
      CHECK(count > 50);
    for (const std::size_t count : seen.kinds)
      CHECK(count > 50);
    for (const std::size_t count : seen.types)
      CHECK(count > 10);
    using enum ComputeKernel;
    for (const ComputeKernel kernel : {kDense, kFused, kFusedUvm, kFusedUvmCaching, kKeyValue,
                                       kQuant, kQuantUvm, kQuantUvmCaching}) {
      INFO("kernel ", std::string(to_name(kernel)));
      CHECK(seen.kernels[static_cast<std::size_t>(kernel)] > 0);
    }
  }
}

}  // namespace shardwright::embedding_plan_property_test
