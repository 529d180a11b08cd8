// The compat search, compared with a naive planner: every proposal, rank and rating, bit for bit.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/ranks_sha1.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/storage_reservations.h"
#include "tests/support/embedding/naive/naive_planner.h"
#include "tests/support/embedding/random_embedding.h"
#include "tests/support/embedding/search_run.h"

namespace shardwright::embedding_search_property_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

std::string sha1_of(const std::vector<std::vector<Rank>>& ranks) {
  RanksSha1 hash;
  for (const auto& option : ranks)
    hash.option(option);
  return hash.finish();
}

bool same_proposal(const ProposalRecord& own, const std::vector<OptionId>& own_options,
                   const naive::Record& expected) {
  if (own.proposer != expected.proposer || own.cached != expected.cached ||
      own_options.size() != expected.options.size()) {
    return false;
  }
  for (std::size_t i = 0; i < own_options.size(); ++i) {
    if (own_options[i].index() != expected.options[i]) return false;
  }
  if (own.feasible != expected.placed.feasible) return false;
  if (!own.feasible) return own.ranks_sha1.empty();
  if (*own.rating != expected.placed.rating) return false;
  return own.cached ? own.ranks_sha1.empty() : own.ranks_sha1 == sha1_of(expected.placed.ranks);
}

std::size_t first_difference(const SearchRun& own, const naive::Outcome& expected) {
  TraceReader reader;
  std::size_t i = 0;
  while (i < own.trace.size() && i < expected.proposals.size() &&
         same_proposal(own.trace[i], reader.next(own.trace[i]), expected.proposals[i])) {
    ++i;
  }
  return i;
}

void check_plan(const SearchRun& own, const naive::Outcome& expected) {
  REQUIRE(own.plan.has_value() == expected.best.has_value());
  CHECK(own.lowest_failed == expected.lowest_failed);
  CHECK(own.best_rating == expected.best_rating);
  if (!own.plan) return;
  const naive::Record& best = expected.proposals[*expected.best];
  CHECK(ranks_of(*own.plan) == best.placed.ranks);
  for (std::size_t i = 0; i < own.plan->size(); ++i) {
    CHECK((*own.plan)[i].option == own.options[best.options[i]]);
  }
}

// Counts how often random problems reach the cases that this test is about.
struct Coverage {
  std::size_t feasible = 0;
  std::size_t failed = 0;
  std::size_t cached = 0;
  std::size_t plans = 0;
  std::size_t by_partitioner[2] = {0, 0};
  std::size_t by_type[7] = {0, 0, 0, 0, 0, 0, 0};  // placed options by sharding type

  void count(const naive::Outcome& outcome, const SearchSpace& space) {
    if (outcome.best) ++plans;
    for (const naive::Record& record : outcome.proposals) {
      ++(record.cached ? cached : record.placed.feasible ? feasible : failed);
      if (!record.placed.feasible || record.cached) continue;
      ++by_partitioner[static_cast<std::size_t>(space.problem().spec().partitioner.type)];
      for (const std::size_t i : record.options) {
        ++by_type[static_cast<std::size_t>(space.options()[i].sharding_type)];
      }
    }
  }
};

void compare(const std::shared_ptr<const SearchSpace>& space, const Topology& available,
             Coverage& coverage) {
  const naive::Outcome expected = naive::plan(*space, available);
  const SearchRun own = run_search(space, available);
  CHECK(own.reason == StopReason::kFinished);
  CHECK(own.trace.size() == expected.proposals.size());
  REQUIRE(first_difference(own, expected) == expected.proposals.size());
  CHECK(own.num_proposals == expected.num_proposals);
  CHECK(own.num_plans == expected.num_plans);
  check_plan(own, expected);
  coverage.count(expected, *space);
}

}  // namespace

TEST_CASE("search: random spaces with arbitrary shard costs give the naive planner's results") {
  for (const std::uint64_t seed : seeds({1, 2, 3})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    Coverage coverage;
    for (int i = 0; i < 1500; ++i) {
      INFO("problem ", i);
      RandomProblemStyle style;
      style.max_tables = 7;
      style.external = true;
      const auto problem = random_problem(random, style);
      compare(random_space(random, problem), problem->topology(), coverage);
    }
    // Both outcomes, all kinds of placement and both partitioners must be frequent.
    CHECK(coverage.feasible > 5000);
    CHECK(coverage.failed > 5000);
    CHECK(coverage.cached > 1000);
    CHECK(coverage.plans > 500);
    for (const std::size_t count : coverage.by_partitioner)
      CHECK(count > 1000);
    for (const std::size_t count : coverage.by_type)
      CHECK(count > 1000);
  }
}

TEST_CASE("search: random problems with estimated costs give the naive planner's results") {
  for (const std::uint64_t seed : seeds({11, 12})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    Coverage coverage;
    InlineExecutor executor;
    int compared = 0;
    for (int i = 0; compared < 300; ++i) {
      INFO("problem ", i);
      RandomProblemStyle style;
      style.max_tables = 5;
      const auto problem = random_problem(random, style);
      const auto reserved = reserve(*problem);
      if (!reserved.ok()) continue;
      const auto space = enumerate(problem, executor);
      if (!space.ok()) continue;
      compare(*space, reserved->topology, coverage);
      ++compared;
    }
    CHECK(coverage.plans > 75);
    CHECK(coverage.feasible > 1000);
    CHECK(coverage.failed > 1000);
    for (const std::size_t count : coverage.by_type)
      CHECK(count > 20);
  }
}

}  // namespace shardwright::embedding_search_property_test
