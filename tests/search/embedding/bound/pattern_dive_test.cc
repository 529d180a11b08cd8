// The diving heuristic, which rounds fractional patterns of ranks to whole ones.
#include "search/embedding/bound/diving_heuristic.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

namespace shardwright::pattern_dive_test {

namespace {

using namespace shardwright::embedding;

// Numbers of the rows: a row is a kind of shard.
constexpr std::uint32_t kSmall = 1;
constexpr std::uint32_t kLarge = 2;
constexpr std::uint32_t kOnHost = 5;

// A row of single shards, or of the shards that a choice on whole hosts puts on each rank. `size`
// is the part of a rank's load limit.
PatternDemand::Row row(double size, bool fills_hosts = false) {
  return {{size, 0, 0, 0}, size, fills_hosts};
}

// `count` ranks of one class. The load limit of a rank is 1.
PatternDemand on_ranks(std::uint32_t count) {
  PatternDemand demand;
  demand.classes = {{count, {1, 0, 0, 0}}};
  return demand;
}

// Returns the number of ranks for each number of shards of `row` on a rank.
std::map<std::uint32_t, std::uint32_t> ranks_with(const WholePatterns& found, std::uint32_t row) {
  std::map<std::uint32_t, std::uint32_t> ranks;
  for (const RankCount& own : found.patterns) {
    std::uint32_t count = 0;
    for (const auto& [shard, number] : own.shards)
      count += shard == row ? number : 0;
    if (own.ranks > 0) ranks[count] += own.ranks;
  }
  return ranks;
}

std::uint32_t num_ranks(const WholePatterns& found) {
  std::uint32_t ranks = 0;
  for (const RankCount& own : found.patterns)
    ranks += own.ranks;
  return ranks;
}

}  // namespace

TEST_CASE("pattern dive: every table has a place where the patterns allow it") {
  // Four ranks hold two small shards or one large shard each. There are five small tables and a
  // large one.
  PatternDemand demand = on_ranks(4);
  demand.rows = {{kSmall, row(0.5)}, {kLarge, row(1)}};
  demand.tables = {{5, {{{kSmall, 1}}}}, {1, {{{kLarge, 1}}}}};
  const std::vector<RankPattern> patterns{{0, {{kSmall, 2}}, 1}, {0, {{kLarge, 1}}, 1}};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Budget budget;
    const WholePatterns found = DivingHeuristic(demand, patterns, {}).run(budget, seed);
    CHECK(num_ranks(found) == 4);
    CHECK(ranks_with(found, kSmall).at(2) == 3);
    CHECK(ranks_with(found, kLarge).at(1) == 1);
    CHECK(found.tables == std::vector<std::vector<std::uint32_t>>{{5}, {1}});
    CHECK(found.unplaced == 0);
  }
}

TEST_CASE("pattern dive: tables take other choices where patterns leave them no place") {
  // Two ranks hold one large shard or three small shards each. Each of three tables is one large
  // shard or two small ones.
  PatternDemand demand = on_ranks(2);
  demand.rows = {{kSmall, row(0.3)}, {kLarge, row(1)}};
  demand.tables = {{3, {{{kLarge, 1}}, {{kSmall, 2}}}}};
  const std::vector<RankPattern> patterns{{0, {{kSmall, 3}}, 0.9}, {0, {{kLarge, 1}}, 1}};
  Budget budget;
  const WholePatterns found = DivingHeuristic(demand, patterns, {}).run(budget);
  CHECK(found.tables == std::vector<std::vector<std::uint32_t>>{{0, 3}});
  CHECK(ranks_with(found, kSmall).at(3) == 2);
}

TEST_CASE("pattern dive: tables beyond what ranks hold have no place") {
  PatternDemand demand = on_ranks(3);
  demand.rows = {{kLarge, row(0.8)}};
  demand.tables = {{5, {{{kLarge, 1}}}}};
  Budget budget;
  const WholePatterns found = DivingHeuristic(demand, {{0, {{kLarge, 1}}, 0.8}}, {}).run(budget);
  CHECK(found.tables == std::vector<std::vector<std::uint32_t>>{{3}});
  CHECK(found.unplaced == doctest::Approx(1.6));
}

TEST_CASE("pattern dive: all ranks of a host hold the same of what fills it") {
  // Three hosts of two ranks. One table fills a host. A rank holds two of the seven small tables,
  // or one beside the host's table. The linear program would put the host's table on single ranks.
  PatternDemand demand = on_ranks(6);
  demand.rows = {{kSmall, row(0.4)}, {kOnHost, row(0.5, true)}};
  demand.tables = {{1, {{{kOnHost, 2}}}}, {7, {{{kSmall, 1}}}}};
  demand.ranks_of_host = 2;
  const std::vector<RankPattern> patterns{
      {0, {{kSmall, 2}}, 0.8}, {0, {{kSmall, 1}, {kOnHost, 1}}, 0.9}, {0, {{kOnHost, 1}}, 0.5}};
  Budget budget;
  const WholePatterns found = DivingHeuristic(demand, patterns, {}).run(budget);
  CHECK(num_ranks(found) == 6);
  CHECK(found.unplaced == 0);
  std::map<HostPart, std::uint32_t> ranks;
  for (const RankCount& own : found.patterns)
    ranks[own.host_part] += own.ranks;
  for (const auto& [part, count] : ranks)
    CHECK(count % 2 == 0);
  CHECK(ranks.at({{kOnHost, 1}}) >= 2);
}

TEST_CASE("pattern dive: patterns are priced for what is left") {
  // Three small and three large tables on three ranks. The known patterns put the small ones on one
  // rank and leave no place for the last large one.
  PatternDemand demand = on_ranks(3);
  demand.rows = {{kSmall, row(0.33)}, {kLarge, row(0.6)}};
  demand.tables = {{3, {{{kSmall, 1}}}}, {3, {{{kLarge, 1}}}}};
  const std::vector<RankPattern> patterns{
      {0, {{kSmall, 3}}, 0.99}, {0, {{kSmall, 1}}, 0.33}, {0, {{kLarge, 1}}, 0.6}};
  Budget budget;
  const WholePatterns found = DivingHeuristic(demand, patterns, {}).run(budget);
  CHECK(found.unplaced == 0);
  REQUIRE(found.patterns.size() == 1);
  CHECK(found.patterns[0].shards == PatternDemand::Shards{{kSmall, 1}, {kLarge, 1}});
  CHECK(found.patterns[0].ranks == 3);
  BoundParameters without;
  without.rounding.pricing_rounds = 0;
  CHECK(DivingHeuristic(demand, patterns, without).run(budget).unplaced == doctest::Approx(0.6));
}

TEST_CASE("pattern dive: host parts leave room for priced patterns") {
  // Two tables take a part of both ranks of a host each. Each rank has room for one small table
  // beside them.
  PatternDemand demand = on_ranks(4);
  demand.rows = {{kSmall, row(0.4)}, {kOnHost, row(0.5, true)}};
  demand.tables = {{2, {{{kOnHost, 2}}}}, {4, {{{kSmall, 1}}}}};
  demand.ranks_of_host = 2;
  Budget budget;
  const WholePatterns found =
      DivingHeuristic(demand, {{0, {{kSmall, 1}}, 0.4}, {0, {{kOnHost, 1}}, 0.5}}, {}).run(budget);
  CHECK(found.unplaced == 0);
  REQUIRE(found.patterns.size() == 1);
  CHECK(found.patterns[0].host_part == HostPart{{kOnHost, 1}});
  CHECK(found.patterns[0].ranks == 4);
}

TEST_CASE("pattern dive: nothing once the budget is interrupted") {
  PatternDemand demand = on_ranks(3);
  demand.rows = {{kLarge, row(0.8)}};
  demand.tables = {{2, {{{kLarge, 1}}}}};
  std::stop_source source;
  source.request_stop();
  Budget budget(std::nullopt, std::nullopt, source.get_token());
  CHECK(DivingHeuristic(demand, {{0, {{kLarge, 1}}, 0.8}}, {}).run(budget).patterns.empty());
}

}  // namespace shardwright::pattern_dive_test
