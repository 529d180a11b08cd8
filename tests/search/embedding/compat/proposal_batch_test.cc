// Proposals stored as differences, and the cache of their results.
#include "search/embedding/compat/proposals.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/embedding/random_embedding.h"

namespace shardwright::proposal_batch_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

using Options = std::vector<OptionId>;

OptionId any_option(Random& random, const OptionPool::TableOptions& table) {
  return table.options[random.below(table.options.size())];
}

// Returns an option of every table, with the tables in random order.
Options any_proposal(Random& random, const OptionPool& pool) {
  Options options;
  for (const auto& table : pool.tables())
    options.push_back(any_option(random, table));
  for (std::size_t i = options.size(); i > 1; --i) {
    std::swap(options[i - 1], options[random.below(i)]);
  }
  return options;
}

std::vector<ProposalChange> any_changes(Random& random, const OptionPool& pool,
                                        const Options& options) {
  std::vector<ProposalChange> changes;
  for (std::uint32_t position = 0; position < options.size(); ++position) {
    if (random.below(3) != 0) continue;
    for (const auto& table : pool.tables()) {
      if (table.table.value() == pool.row(options[position]).table) {
        changes.push_back({position, any_option(random, table)});
      }
    }
  }
  return changes;
}

void check_step(const ProposalBatch& batch, std::size_t index, const Options& expected) {
  Options options = {OptionId(7)};
  batch.expand(index, options);
  CHECK(options == expected);
  const OptionPool& pool = batch.pool();
  OptionSetKey key;
  Storage storage;
  std::uint64_t shards = 0;
  for (const OptionId id : expected) {
    key += pool.token(id);
    storage += pool.row(id).storage;
    shards += pool.row(id).num_shards;
  }
  const ProposalBatch::Step& step = batch.step(index);
  CHECK(step.key == key);
  CHECK(step.storage == storage);
  CHECK(step.num_shards == shards);
}

}  // namespace

TEST_CASE(
    "proposal batch: expanding equals replaying, and totals equal sums, over several batches") {
  for (const std::uint64_t seed : seeds({51, 52})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 100; ++i) {
      const OptionPool pool(random_space(
          random, random_problem(random, {.max_tables = 6, .scaleup = false, .external = true})));
      ProposalBatch batch(pool);
      Options current;
      for (int round = 0; round < 4; ++round) {
        if (random.below(4) == 0) {
          batch.reset();
          current.clear();
        } else {
          batch.continue_from(batch);
        }
        CHECK(batch.empty());
        CHECK(Options(batch.base().begin(), batch.base().end()) == current);
        std::vector<Options> expected;
        for (std::size_t step = 0, steps = random.below(8); step < steps; ++step) {
          if (current.empty() || random.below(5) == 0) {
            current = any_proposal(random, pool);
            batch.push_full(current);
          } else {
            const auto changes = any_changes(random, pool, current);
            for (const ProposalChange& change : changes)
              current[change.position] = change.option;
            batch.push_changes(changes);
          }
          expected.push_back(current);
        }
        REQUIRE(batch.size() == expected.size());
        for (std::size_t step = 0; step < expected.size(); ++step) {
          check_step(batch, step, expected[step]);
        }
      }
    }
  }
}

TEST_CASE("proposal batch: the key of a set does not depend on the order of its options") {
  Random random(53);
  const OptionPool pool(random_space(
      random, random_problem(random, {.max_tables = 6, .scaleup = false, .external = true})));
  ProposalBatch batch(pool);
  Options options;
  for (const auto& table : pool.tables())
    options.push_back(table.options.front());
  batch.push_full(options);
  Options reversed(options.rbegin(), options.rend());
  batch.push_full(reversed);
  CHECK(batch.step(0).key == batch.step(1).key);
}

TEST_CASE("proposal cache: finds what was inserted, through every growth, and nothing else") {
  ProposalCache cache;
  // Keys that collide in the low bits that the hash table uses.
  const auto key = [](std::uint64_t i) { return OptionSetKey{i % 7 + (i << 40), i * i}; };
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto found = cache.insert(key(i));
    REQUIRE(found.is_new);
    REQUIRE(found.index == i);
    REQUIRE(cache.outcome(i) == nullptr);
    cache.set_outcome(i, {i % 3 == 0, static_cast<double>(i)});
  }
  CHECK(cache.size() == 5000);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto found = cache.insert(key(i));
    REQUIRE_FALSE(found.is_new);
    REQUIRE(found.index == i);
    const ProposalOutcome* outcome = cache.outcome(i);
    REQUIRE(outcome != nullptr);
    CHECK(outcome->feasible == (i % 3 == 0));
    CHECK(outcome->rating == static_cast<double>(i));
  }
  CHECK(cache.size() == 5000);
}

TEST_CASE("proposal cache: a withdrawn proposal is new again, and the others are still found") {
  const auto key = [](std::uint64_t i) { return OptionSetKey{i % 7 + (i << 40), i * i}; };
  for (const std::uint32_t kept : {0U, 1U, 300U, 511U, 512U, 1999U, 2000U}) {
    ProposalCache cache;
    for (std::uint32_t i = 0; i < 2000; ++i)
      cache.insert(key(i));
    cache.truncate(kept);
    CHECK(cache.size() == kept);
    for (std::uint32_t i = 0; i < 2000; ++i) {
      const auto found = cache.insert(key(i));
      REQUIRE(found.index == i);
      REQUIRE(found.is_new == (i >= kept));
    }
  }
}

}  // namespace shardwright::proposal_batch_test
