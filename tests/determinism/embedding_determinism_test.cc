// The compat search gives the same bytes on any number of workers, in any order of evaluation.
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/ranks_sha1.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/storage_reservations.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/random_embedding.h"
#include "tests/support/embedding/search_run.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::embedding_determinism_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using ProposerType = ProposerSpec::Type;
using PartitionerType = PartitionerSpec::Type;

constexpr unsigned kWorkers[] = {1, 2, 4, 8};
constexpr int kRepetitions = 2;

bool same_bits(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() &&
         (!a || std::bit_cast<std::uint64_t>(*a) == std::bit_cast<std::uint64_t>(*b));
}

bool same_outcome(const ProposalRecord& a, const ProposalRecord& b) {
  return a.cached == b.cached && a.feasible == b.feasible && same_bits(a.rating, b.rating) &&
         a.ranks_sha1 == b.ranks_sha1;
}

bool same_changes(const ProposalRecord& a, const ProposalRecord& b) {
  if (a.proposer != b.proposer || a.full != b.full || a.changes.size() != b.changes.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.changes.size(); ++i) {
    if (a.changes[i].position != b.changes[i].position ||
        a.changes[i].option != b.changes[i].option) {
      return false;
    }
  }
  return true;
}

void check_same(const SearchRun& own, const SearchRun& expected) {
  CHECK(own.reason == expected.reason);
  CHECK(own.num_proposals == expected.num_proposals);
  CHECK(own.num_plans == expected.num_plans);
  CHECK(std::bit_cast<std::uint64_t>(own.best_rating) ==
        std::bit_cast<std::uint64_t>(expected.best_rating));
  CHECK(own.lowest_failed == expected.lowest_failed);
  CHECK(own.lowest_failed_options == expected.lowest_failed_options);
  REQUIRE(own.plan.has_value() == expected.plan.has_value());
  if (own.plan) {
    CHECK(ranks_sha1(*own.plan) == ranks_sha1(*expected.plan));
    CHECK(ranks_of(*own.plan) == ranks_of(*expected.plan));
  }
  REQUIRE(own.trace.size() == expected.trace.size());
  std::size_t differing = 0;
  for (std::size_t i = 0; i < own.trace.size(); ++i) {
    if (!same_changes(own.trace[i], expected.trace[i]) ||
        !same_outcome(own.trace[i], expected.trace[i])) {
      ++differing;
    }
  }
  CHECK(differing == 0);
}

// Compares searches on every number of workers with the inline search. Returns the inline search.
SearchRun check_all(const std::shared_ptr<const SearchSpace>& space, const Topology& available,
                    std::optional<std::uint64_t> work_limit = {}) {
  InlineExecutor in_line;
  SearchRun expected = run_search(space, available, in_line, work_limit);
  for (const unsigned workers : kWorkers) {
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      INFO(workers, " workers, repetition ", repetition);
      ShufflingExecutor executor(workers, workers * 100 + static_cast<unsigned>(repetition));
      check_same(run_search(space, available, executor, work_limit), expected);
    }
  }
  return expected;
}

// Forty tables of different sizes and constraints on two hosts of four ranks. Memory is so scarce
// that many proposals fail. Tables have cache statistics, which scale-up needs.
ProblemSpec forty_tables(ProposerType proposer, PartitionerType partitioner) {
  ProblemSpec spec = problem_spec(40, 8, 4);
  spec.topology.hbm_cap_bytes = 80'000'000;
  spec.reservation.type = ReservationSpec::Type::kNone;
  for (std::size_t i = 0; i < spec.tables.size(); ++i) {
    Table& table = spec.tables[i];
    table.num_embeddings = 1000 + static_cast<std::int64_t>(i * i * 400 % 90'001);
    table.embedding_dim = i % 3 == 0 ? 64 : 128;
    table.module = "m" + std::to_string(i % 5);
    ParameterConstraints& constraints = table.constraints.emplace();
    constraints.min_partition = 32;
    constraints.pooling_factors = {1.0 + static_cast<double>(i % 9)};
    if (i % 4 == 0) {
      constraints.sharding_types = {ShardingType::kTableWise, ShardingType::kRowWise,
                                    ShardingType::kGridShard, ShardingType::kTableColumnWise};
    }
    CacheParams& cache = constraints.cache_params.emplace();
    cache.load_factor = 0.1;
    cache.stats =
        CacheStatistics{0.05 * static_cast<double>(i % 7), 500, {4, 3, 2, 1}, table.num_embeddings};
  }
  // The grid proposer accepts few combinations only.
  if (proposer == ProposerType::kGrid) spec.tables.resize(2);
  ProposerSpec own;
  own.type = proposer;
  own.hbm_bins_per_device = 20;
  ProposerSpec greedy;
  greedy.use_depth = false;
  spec.proposers = {own, greedy};
  spec.partitioner.type = partitioner;
  spec.partitioner.max_search_count = 4;
  spec.partitioner.balance_modules = partitioner == PartitionerType::kGreedy;
  return spec;
}

}  // namespace

TEST_CASE("determinism: every proposer and partitioner, on any number of workers") {
  std::uint64_t failures = 0;
  for (const ProposerType proposer :
       {ProposerType::kGreedy, ProposerType::kUniform, ProposerType::kGrid,
        ProposerType::kDynamicProgramming, ProposerType::kScaleup}) {
    for (const PartitionerType partitioner :
         {PartitionerType::kGreedy, PartitionerType::kMemoryBalanced}) {
      INFO("proposer ", static_cast<int>(proposer), ", partitioner ",
           static_cast<int>(partitioner));
      const auto problem = std::make_shared<const Problem>(
          Problem::make(forty_tables(proposer, partitioner)).value());
      InlineExecutor executor;
      const SearchRun run = check_all(enumerate(problem, executor).value(), problem->topology());
      CHECK(run.plan.has_value());
      CHECK(run.num_proposals > 25);
      failures += run.num_proposals - run.num_plans;
    }
  }
  CHECK(failures > 500);
}

TEST_CASE(
    "determinism: a greedy search that stops at its threshold drops the proposals beyond it") {
  ProblemSpec spec = forty_tables(ProposerType::kGreedy, PartitionerType::kGreedy);
  for (ProposerSpec& proposer : spec.proposers)
    proposer.threshold = 20;
  const auto problem = std::make_shared<const Problem>(Problem::make(spec).value());
  InlineExecutor executor;
  const auto space = enumerate(problem, executor).value();
  const SearchRun run = check_all(space, problem->topology());
  CHECK(run.num_proposals < 500);
}

TEST_CASE(
    "determinism: a work limit ends the search at the same proposal for any number of workers") {
  const auto problem = std::make_shared<const Problem>(
      Problem::make(forty_tables(ProposerType::kGreedy, PartitionerType::kGreedy)).value());
  InlineExecutor executor;
  const auto space = enumerate(problem, executor).value();
  for (const std::uint64_t limit : {1U, 1000U, 12'345U, 60'000U}) {
    INFO("limit ", limit);
    const SearchRun run = check_all(space, problem->topology(), limit);
    CHECK(run.reason == StopReason::kWorkLimit);
  }
}

TEST_CASE("determinism: random problems, on any number of workers") {
  for (const std::uint64_t seed : seeds({121})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    RandomProblemStyle style;
    style.max_tables = 10;
    style.scaleup = true;
    InlineExecutor executor;
    for (int compared = 0; compared < 40;) {
      const auto problem = random_problem(random, style);
      const auto reserved = reserve(*problem);
      const auto space = enumerate(problem, executor);
      if (!reserved.ok() || !space.ok()) continue;
      check_all(*space, reserved->topology);
      ++compared;
    }
  }
}

}  // namespace shardwright::embedding_determinism_test
