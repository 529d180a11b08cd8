// The pricing problem of one rank in the check of a bound: the most valuable set of shards.
#include "core/embedding/bound/rank_pricing.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace shardwright::rank_pricing_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using Answer = RankPricing::Answer;

constexpr std::uint64_t kEnough = 10'000'000;

// The runs of equal shards of an option, and the number of shards in each.
struct Option {
  std::vector<ShardSet> runs;
  std::vector<std::uint32_t> counts;
};
using Tables = std::vector<std::vector<Option>>;

// Returns the largest value of any set of shards that fits, by trying all sets.
double best(const Tables& tables, std::size_t table, const ShardSet& held, double target,
            const Storage& room) {
  if (held.load > target || !held.storage.fits_in(room)) return -1;
  if (table == tables.size()) return held.value;
  double most = best(tables, table + 1, held, target, room);
  for (const Option& option : tables[table]) {
    std::vector<std::uint32_t> taken(option.runs.size(), 0);
    for (;;) {
      std::size_t at = 0;
      while (at < taken.size() && taken[at] == option.counts[at])
        taken[at++] = 0;
      if (at == taken.size()) break;
      ++taken[at];
      ShardSet more = held;
      for (std::size_t run = 0; run < taken.size(); ++run) {
        more.value += taken[run] * option.runs[run].value;
        more.load += taken[run] * option.runs[run].load;
        more.storage += std::int64_t{taken[run]} * option.runs[run].storage;
      }
      most = std::max(most, best(tables, table + 1, more, target, room));
    }
  }
  return most;
}

Answer check(const Tables& tables, double target, const Storage& room,
             const CapacityMultipliers& multipliers, double most, std::uint64_t work = kEnough) {
  RankPricing rank(target, room, multipliers);
  for (const std::vector<Option>& options : tables) {
    rank.begin_table();
    for (const Option& option : options)
      REQUIRE(rank.add(option.runs, option.counts));
  }
  const std::function<bool()> goes_on;
  StepLimit limit(work, goes_on);
  return rank.check(most, limit);
}

// One third of the shards take SSD, too.
Storage random_bytes(test_support::Random& random) {
  Storage bytes{Bytes(static_cast<std::int64_t>(random.below(20))),
                Bytes(static_cast<std::int64_t>(random.below(3)))};
  if (random.below(3) == 0) bytes.ssd = Bytes(1 + static_cast<std::int64_t>(random.below(4)));
  return bytes;
}

Tables random_tables(test_support::Random& random, std::size_t most_tables) {
  Tables tables(1 + random.below(most_tables));
  for (std::vector<Option>& options : tables) {
    options.resize(1 + random.below(3));
    for (Option& option : options) {
      for (std::size_t run = 1 + random.below(2); run > 0; --run) {
        option.runs.push_back({0.5 * static_cast<double>(random.below(12)),
                               0.25 * static_cast<double>(random.below(20)), random_bytes(random)});
        option.counts.push_back(1 + static_cast<std::uint32_t>(random.below(2)));
      }
    }
  }
  return tables;
}

}  // namespace

TEST_CASE(
    "rank pricing: a claim holds exactly if it is at least the largest value, for any "
    "multipliers") {
  std::size_t limited = 0;
  for (const std::uint64_t seed : test_support::seeds({21, 22})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    test_support::Random random(seed);
    for (int i = 0; i < 1000; ++i) {
      CAPTURE(i);
      const Tables tables = random_tables(random, 4);
      const double target = 1 + static_cast<double>(random.below(10));
      const Storage room{Bytes(static_cast<std::int64_t>(random.below(50))),
                         Bytes(static_cast<std::int64_t>(random.below(6))),
                         Bytes(static_cast<std::int64_t>(random.below(8)))};
      const CapacityMultipliers multipliers{
          0.25 * static_cast<double>(random.below(8)), 0.05 * static_cast<double>(random.below(8)),
          0.5 * static_cast<double>(random.below(3)), 0.5 * static_cast<double>(random.below(3))};
      const double most = best(tables, 0, {}, target, room);
      REQUIRE(most >= 0);
      CHECK(check(tables, target, room, multipliers, most * (1 + 1e-12) + 1e-12) == Answer::kHolds);
      CHECK(check(tables, target, room, multipliers, most - 0.25) == Answer::kExceeded);
      if (most < best(tables, 0, {}, 1e9, {Bytes(1000), Bytes(1000), Bytes(1000)})) ++limited;
    }
  }
  CHECK(limited > 1000);
}

TEST_CASE("rank pricing: many tables are searched in two parts") {
  Tables tables;
  for (std::int64_t i = 0; i < 24; ++i) {
    const double worth = 1 + 0.01 * static_cast<double>(i * i % 17);
    const double load = 1 + 0.013 * static_cast<double>(i * 7 % 23);
    tables.push_back({{{{worth, load, {Bytes(10 + i * 5 % 11), Bytes(0)}}}, {1}}});
  }
  const Storage room{Bytes(100), Bytes(0)};
  const CapacityMultipliers none;
  // The smallest claim that holds must not depend on the multipliers. The check without multipliers
  // drops no label early, so it serves as the reference.
  double low = 0;
  double high = 30;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    const Answer answer = check(tables, 8, room, {0.6, 0.03, 0}, middle);
    REQUIRE(answer != Answer::kGivenUp);
    (answer == Answer::kHolds ? high : low) = middle;
  }
  CHECK(high > 6);
  CHECK(high < 9);
  CHECK(check(tables, 8, room, none, high + 1e-6, 1'000'000'000) == Answer::kHolds);
  CHECK(check(tables, 8, room, none, low - 1e-6, 1'000'000'000) == Answer::kExceeded);
}

TEST_CASE(
    "rank pricing: gives up when its work is used up, and refuses options with too many "
    "combinations of shards") {
  const Tables tables(12, {{{{1, 0.1, {Bytes(1), Bytes(0)}}}, {3}}});
  CHECK(check(tables, 1, {Bytes(100), Bytes(0)}, {}, 5, 20) == Answer::kGivenUp);
  RankPricing rank(1e9, {Bytes(1'000'000), Bytes(0)}, {});
  rank.begin_table();
  CHECK(rank.add({{1, 1, {Bytes(1), Bytes(0)}}}, {4000}));
  CHECK_FALSE(rank.add({{1, 1, {Bytes(1), Bytes(0)}}, {2, 1, {Bytes(1), Bytes(0)}}}, {100, 100}));
}

TEST_CASE("rank pricing: runs without value add no combinations") {
  RankPricing rank(10, {Bytes(100), Bytes(0)}, {});
  rank.begin_table();
  CHECK(rank.add({{1, 1, {Bytes(1), Bytes(0)}}, {0, 0, {}}}, {10, 4000}));
  std::uint64_t work = kEnough;
  const std::function<bool()> goes_on;
  StepLimit limit(work, goes_on);
  CHECK(rank.check(10 + 1e-9, limit) == Answer::kHolds);
  CHECK(rank.check(9.5, limit) == Answer::kExceeded);
}

TEST_CASE("rank pricing: hears a stop") {
  RankPricing rank(10, {Bytes(100), Bytes(0)}, {});
  rank.begin_table();
  CHECK(rank.add({{1, 1, {Bytes(1), Bytes(0)}}}, {10}));
  std::uint64_t work = kEnough;
  const std::function<bool()> is_stopped = [] { return true; };
  StepLimit limit(work, is_stopped);
  CHECK(rank.check(10 + 1e-9, limit) == Answer::kGivenUp);
}

}  // namespace shardwright::rank_pricing_test
