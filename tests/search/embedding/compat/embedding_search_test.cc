// The compat search under explore(): budgets, counters and results.
#include "search/embedding/compat/embedding_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <vector>

#include "search/embedding/compat/diagnose.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/random_embedding.h"
#include "tests/support/embedding/search_run.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::embedding_search_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;
using Type = ProposerSpec::Type;

constexpr double kNoRating = std::numeric_limits<double>::infinity();

bool same(const ProposalRecord& a, const ProposalRecord& b) {
  if (a.proposer != b.proposer || a.full != b.full || a.cached != b.cached ||
      a.ranks_sha1 != b.ranks_sha1 || a.feasible != b.feasible || a.rating != b.rating ||
      a.changes.size() != b.changes.size()) {
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

bool is_prefix(const std::vector<ProposalRecord>& part, const std::vector<ProposalRecord>& whole) {
  if (part.size() > whole.size()) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!same(part[i], whole[i])) return false;
  }
  return true;
}

std::size_t evaluated(const std::vector<ProposalRecord>& trace) {
  std::size_t count = 0;
  for (const ProposalRecord& proposal : trace)
    count += proposal.cached ? 0U : 1U;
  return count;
}

// Twenty tables of three options each on two ranks.
std::shared_ptr<const SearchSpace> twenty_tables(const std::vector<Type>& proposers) {
  ProblemSpec spec = problem_spec(20, 2, 2);
  spec.topology.hbm_cap_bytes = 400;
  for (const Type type : proposers) {
    ProposerSpec proposer;
    proposer.type = type;
    spec.proposers.push_back(proposer);
  }
  SpaceBuilder builder(spec);
  for (std::size_t table = 0; table < 20; ++table) {
    const auto size = static_cast<std::int64_t>(table);
    builder.add(table, kTableWise, 1, 1 + static_cast<double>(table % 7), 30 + size);
    builder.add(table, kColumnWise, 2, 1, 12 + size);
    builder.add(table, kRowWise, 2, 2, 10 + size);
  }
  return builder.take();
}

}  // namespace

TEST_CASE("embedding search: a work limit gives the first proposals of the unlimited search") {
  const auto space = twenty_tables({Type::kGreedy, Type::kGreedy, Type::kUniform});
  InlineExecutor executor;
  const SearchRun whole = run_search(space, space->problem().topology());
  REQUIRE(whole.reason == StopReason::kFinished);
  REQUIRE(evaluated(whole.trace) < whole.trace.size());
  for (std::uint64_t limit = 0; limit <= whole.work + 50; limit += 37) {
    INFO("limit ", limit);
    const SearchRun part = run_search(space, space->problem().topology(), executor, limit);
    CHECK(is_prefix(part.trace, whole.trace));
    CHECK(part.num_proposals == evaluated(part.trace));
    // The search ends with the proposal that reaches the limit; cached proposals may follow.
    CHECK(part.work <= limit + 40);
    if (part.reason == StopReason::kWorkLimit) {
      CHECK(part.work >= limit);
    } else {
      CHECK(part.trace.size() == whole.trace.size());
    }
  }
}

TEST_CASE(
    "embedding search: a work limit ends the search of random problems where it is reached, and "
    "only there") {
  for (const std::uint64_t seed : seeds({111})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    InlineExecutor executor;
    for (int i = 0; i < 200; ++i) {
      INFO("problem ", i);
      const auto problem =
          random_problem(random, {.max_tables = 8, .scaleup = false, .external = true});
      const auto space = random_space(random, problem);
      const SearchRun whole = run_search(space, problem->topology());
      const std::uint64_t limit = random.below(whole.work + 2);
      const SearchRun part = run_search(space, problem->topology(), executor, limit);
      REQUIRE(is_prefix(part.trace, whole.trace));
      if (part.trace.size() < whole.trace.size()) {
        CHECK(part.reason == StopReason::kWorkLimit);
        CHECK(part.work >= limit);
      }
    }
  }
}

TEST_CASE("embedding search: repeated proposals are cached") {
  const SearchRun once = [] {
    const auto space = twenty_tables({Type::kGreedy});
    return run_search(space, space->problem().topology());
  }();
  const auto space = twenty_tables({Type::kGreedy, Type::kGreedy});
  const SearchRun twice = run_search(space, space->problem().topology());
  CHECK(twice.trace.size() == 2 * once.trace.size());
  CHECK(twice.num_proposals == once.num_proposals);
  CHECK(twice.num_plans == once.num_plans);
  for (std::size_t i = 0; i < once.trace.size(); ++i) {
    const ProposalRecord& again = twice.trace[once.trace.size() + i];
    CHECK(again.cached);
    CHECK(again.feasible == once.trace[i].feasible);
    CHECK(again.rating == once.trace[i].rating);
    CHECK(again.ranks_sha1.empty());
  }
}

TEST_CASE("embedding search: without a trace the result is the same") {
  const auto space = twenty_tables({Type::kGreedy, Type::kUniform});
  InlineExecutor executor;
  const SearchRun traced = run_search(space, space->problem().topology());
  const SearchRun silent = run_search(space, space->problem().topology(), executor, {}, false);
  CHECK(silent.trace.empty());
  CHECK(silent.best_rating == traced.best_rating);
  CHECK(ranks_of(*silent.plan) == ranks_of(*traced.plan));
}

TEST_CASE("embedding search: a stop request before the start gives an empty result") {
  const auto space = twenty_tables({Type::kGreedy});
  OptionPool pool(space);
  EmbeddingSearch search(pool, space->problem().topology(), 1, true);
  InlineExecutor executor;
  std::stop_source source;
  source.request_stop();
  Budget budget({}, {}, source.get_token());
  CHECK(explore(search, executor, budget) == StopReason::kCancelled);
  CHECK(search.num_proposals() == 0);
  CHECK_FALSE(search.best_plan().has_value());
  CHECK_FALSE(search.lowest_failed_storage().has_value());
}

TEST_CASE(
    "embedding search: a stop request during a batch keeps the proposals that were evaluated "
    "before") {
  const auto space = twenty_tables({Type::kGreedy});
  const SearchRun whole = run_search(space, space->problem().topology());
  OptionPool pool(space);
  EmbeddingSearch search(pool, space->problem().topology(), 1, true);
  std::stop_source source;
  Budget budget({}, {}, source.get_token());
  const std::size_t size = search.propose(0, budget);
  REQUIRE(size > 10);
  search.evaluate(0, 0, 0, 7, budget);
  source.request_stop();
  search.evaluate(0, 0, 7, size, budget);
  search.synchronize(0, budget);
  CHECK(search.num_proposals() == 7);
  CHECK(search.trace().size() == 7);
  CHECK(is_prefix(search.trace(), whole.trace));
}

// Without a trace, the search does not rate proposals that are certain to lose.
TEST_CASE(
    "embedding search: a stop request keeps the best evaluated proposal, wherever it is in the "
    "batch") {
  const auto space = twenty_tables({Type::kGreedy});
  OptionPool pool(space);
  EmbeddingSearch search(pool, space->problem().topology(), 1, false);
  std::stop_source source;
  Budget budget({}, {}, source.get_token());
  const std::size_t size = search.propose(0, budget);
  const std::size_t done = size - size / 2;
  search.evaluate(0, 0, size / 2, size, budget);
  source.request_stop();
  search.evaluate(0, 0, 0, size / 2, budget);
  search.synchronize(0, budget);
  CHECK(search.num_proposals() == done);
  REQUIRE(search.num_plans() > 0);
  REQUIRE(search.best_plan().has_value());
  double best = kNoRating;
  const SearchRun whole = run_search(space, space->problem().topology());
  for (std::size_t i = size / 2; i < size; ++i) {
    if (whole.trace[i].feasible) best = std::min(best, *whole.trace[i].rating);
  }
  CHECK(search.best_rating() == best);
}

TEST_CASE("embedding search: the failed proposal of least memory is kept for the diagnosis") {
  ProblemSpec spec = problem_spec(2, 2, 2);
  spec.topology.hbm_cap_bytes = 10;
  ProposerSpec proposer;
  spec.proposers = {proposer};
  const auto space = SpaceBuilder(spec)
                         .add(0, kTableWise, 1, 1, 30)
                         .add(0, kTableWise, 1, 2, 12)
                         .add(0, kTableWise, 1, 3, 20)
                         .add(1, kTableWise, 1, 1, 5)
                         .take();
  const SearchRun run = run_search(space, space->problem().topology());
  CHECK(run.num_proposals == 3);
  CHECK(run.num_plans == 0);
  REQUIRE(run.lowest_failed.has_value());
  CHECK(*run.lowest_failed == Storage{Bytes(17), Bytes(0)});
  CHECK(run.lowest_failed_options == std::vector<OptionId>{OptionId(1), OptionId(3)});
}

TEST_CASE("embedding search: what a proposal costs beside its shards is spent, too") {
  const auto space = twenty_tables({Type::kGreedy});
  const SearchRun whole = run_search(space, space->problem().topology());
  OptionPool pool(space);
  constexpr std::uint64_t kWork = 1000;
  EmbeddingSearch search(pool, space->problem().topology(), 1, false, {}, {.per_proposal = kWork});
  InlineExecutor executor;
  Budget budget(whole.work + 10 * kWork, {});
  explore(search, executor, budget);
  CHECK(search.num_proposals() >= 10);
  CHECK(search.num_proposals() < 20 + whole.work / kWork);
}

TEST_CASE("diagnosis: a stop makes no claim about tables") {
  OptionPool pool(SpaceBuilder(problem_spec(1, 2, 2)).add(0, kTableWise, 1, 1, 10).take());
  const OptionId option(std::size_t{0});
  std::stop_source source;
  source.request_stop();
  const PlanFailure failure = diagnose(pool, pool.problem().topology(), {&option, 1}, Storage(),
                                       Budget({}, {}, source.get_token()));
  CHECK(failure.reason == FailureReason::kStopped);
}

}  // namespace shardwright::embedding_search_test
