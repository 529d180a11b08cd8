// How many bytes each rank sends to each other when tables move.
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/rank_flows.h"
#include "tests/support/random.h"

namespace shardwright::rank_flows_test {

using namespace shardwright;
using namespace shardwright::embedding;
using test_support::Random;

namespace {

// A layout of `count` shards of rows x columns, one below the other or side by side.
ShardLayout cut(std::int64_t rows, std::int64_t columns, std::uint32_t count, bool by_rows) {
  ShardLayout layout;
  if (by_rows) {
    layout.append({rows / count, columns, 0, 0, rows / count, 0, count});
  } else {
    layout.append({rows, columns / count, 0, 0, 0, columns / count, count});
  }
  return layout;
}

// A layout of `count` copies of the whole table.
ShardLayout copies(std::int64_t rows, std::int64_t columns, std::uint32_t count) {
  ShardLayout layout;
  layout.append({rows, columns, 0, 0, 0, 0, count});
  return layout;
}

PlacedLayout on(const ShardLayout& layout, const std::vector<std::int64_t>& ranks) {
  return {&layout, [&ranks](std::uint32_t shard) { return ranks[shard]; }};
}

std::int64_t sum(const RankFlows& flows) {
  std::int64_t bytes = 0;
  for (std::int64_t from = 0; from < flows.num_blocks(); ++from) {
    for (std::int64_t to = 0; to < flows.num_blocks(); ++to)
      bytes += flows.bytes(from, to);
  }
  return bytes;
}

}  // namespace

TEST_CASE("rank flows: a table that is cut by rows and then by columns goes all to all") {
  const ShardLayout rows = cut(8, 4, 2, true), columns = cut(8, 4, 2, false);
  const std::vector<std::int64_t> ranks{0, 1};
  RankFlows flows(2, 1);
  flows.add(on(rows, ranks), on(columns, ranks), 32);
  // A rank keeps the quarter of the table that both layouts give it.
  CHECK(flows.bytes(0, 1) == 4 * 2 * 4);
  CHECK(flows.bytes(1, 0) == 4 * 2 * 4);
  CHECK(flows.bytes(0, 0) == 0);
}

TEST_CASE("rank flows: of several copies the closest rank sends") {
  const ShardLayout two = copies(8, 4, 2), one = copies(8, 4, 1);
  const std::vector<std::int64_t> before{1, 6}, after{5};
  RankFlows flows(8, 1);
  flows.add(on(two, before), on(one, after), 32);
  CHECK(flows.bytes(6, 5) == 8 * 4 * 4);
  CHECK(sum(flows) == 8 * 4 * 4);
}

TEST_CASE("rank flows: new tables come from nobody, and blocks add up their ranks") {
  const ShardLayout whole = copies(8, 4, 1);
  const std::vector<std::int64_t> first{0}, last{7};
  RankFlows flows(8, 4);
  flows.add({}, on(whole, first), 32);
  CHECK(sum(flows) == 0);
  flows.add(on(whole, first), on(whole, last), 32);
  flows.add(on(whole, first), on(whole, last), 32);
  CHECK(flows.num_blocks() == 2);
  CHECK(flows.bytes(0, 1) == 2 * 8 * 4 * 4);
}

TEST_CASE("rank flows: what is sent is what ranks lack") {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const auto layout = [&] {
      const auto count = static_cast<std::uint32_t>(std::int64_t{1} << random.below(4));
      return random.below(4) == 0 ? copies(32, 16, count)
                                  : cut(32, 16, count, random.below(2) == 0);
    };
    const auto ranks_of = [&](const ShardLayout& of) {
      std::vector<std::int64_t> ranks;
      for (std::uint32_t shard = 0; shard < of.num_shards; ++shard)
        ranks.push_back(static_cast<std::int64_t>(random.below(12)));
      return ranks;
    };
    const ShardLayout before = layout(), after = layout();
    const std::vector<std::int64_t> from = ranks_of(before), to = ranks_of(after);
    RankFlows flows(12, 1);
    flows.add(on(before, from), on(after, to), 32);
    CHECK(sum(flows) == 4 * moved_elements(on(before, from), on(after, to)));
    for (std::int64_t rank = 0; rank < 12; ++rank)
      CHECK(flows.bytes(rank, rank) == 0);
  }
}

}  // namespace shardwright::rank_flows_test
