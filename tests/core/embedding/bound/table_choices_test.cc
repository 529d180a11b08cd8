// What every table may choose in a search where ranks may be exchanged.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/bound/search/choices/table_choices.h"
#include "tests/core/embedding/bound/proofs.h"

namespace shardwright::table_choices_test {

using namespace shardwright::bound_proofs;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

namespace {

// Groups of equal shards of one table on all of four ranks, whose last shard has fewer bytes.
std::size_t groups_with(std::int64_t bytes) {
  SpaceBuilder builder(spec(1, 4, 4));
  builder.add_runs(0, ShardingType::kRowWise, {{3, 1, bytes}, {1, 1, bytes / 2}});
  const auto space = builder.take();
  PlaceDomain places{{15}, {0, 1, 2, 3}, true};
  const std::vector<ChoicesOfTable> tables =
      all_choices(*space, space->problem().topology(), {2.0, nullptr, &places, 0});
  REQUIRE(tables.size() == 1);
  REQUIRE(tables[0].choices.size() == 1);
  return tables[0].choices[0].shards.size();
}

}  // namespace

// A rank has 100 bytes. All shards together take 35 or 210.
TEST_CASE("table choices: what larger shards take beyond the least counts where memory is scarce") {
  CHECK(groups_with(10) == 4);
  CHECK(groups_with(60) == 5);
}

}  // namespace shardwright::table_choices_test
