// Large shards that are pinned to ranks of their own.
#include "search/embedding/best/bound/tree/pins.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/best/bound/bound_prover.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::pins_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// Three tables of 4 ms on one rank, or of 2 ms on each, beside a first one that the test adds.
BoundModel beside(SpaceBuilder builder) {
  for (std::size_t table = 1; table < 4; ++table)
    builder.add(table, kTableWise, 1, 4, 10).add(table, kRowWise, 2, 2, 5);
  return BoundModel(builder.take());
}

Pins pins_of(const BoundModel& model, double target) {
  Budget budget;
  return find_pins(model.choices, target, BoundParameters(), budget);
}

}  // namespace

TEST_CASE("pins: a shard that leaves little room has a rank class of its own") {
  const BoundModel model = beside(SpaceBuilder(one_host_spec(4, 2)).add(0, kTableWise, 1, 9, 10));
  // The rank of the first table takes no other below 11 ms, and the second rank not all three.
  const Pins pins = pins_of(model, 10.9);
  CHECK(pins.tables == std::vector<std::uint32_t>{0});
  CHECK(pins.sizes == std::vector<std::uint32_t>{1});
  CHECK(pins.gain == 1);
  const BoundRows rows = pinned_rows(model.choices, pins);
  CHECK(rows.classes().size() == 2);
  Domain domain = root_domain(rows, 10.9);
  Budget budget;
  pin(rows, pins, 10.9, domain, budget);
  CHECK(domain[0] == 1);
}

TEST_CASE("pins: the proof closes a gap of symmetric ranks, and the check agrees") {
  const BoundModel model = beside(SpaceBuilder(one_host_spec(4, 2)).add(0, kTableWise, 1, 9, 10));
  BoundParameters parameters;
  parameters.search.early_root_steps = 0;
  BoundProver prover(model.choices, parameters);
  Budget budget;
  prover.run(1'000'000, 11, budget);
  CHECK(prover.proves(11));
  CHECK(prover.certificate().ranks_are_alike);
  const auto wrong =
      check_bound(*model.space, model.space->problem().topology(), prover.certificate());
  CHECK(wrong.value_or("") == "");
}

TEST_CASE("pins: no two pinned shards fit on one rank") {
  // Two shards of 4 ms may be on one rank below 12 ms.
  const BoundModel model = beside(SpaceBuilder(one_host_spec(4, 2)).add(0, kColumnWise, 2, 4, 10));
  CHECK(pins_of(model, 12).tables.empty());
  // Two of 6.5 ms may not.
  const BoundModel large =
      beside(SpaceBuilder(one_host_spec(4, 2)).add(0, kColumnWise, 2, 6.5, 10));
  CHECK(pins_of(large, 12.9).tables == std::vector<std::uint32_t>{0});
  // Bytes exclude each other, too.
  const BoundModel tight = beside(SpaceBuilder(one_host_spec(4, 2)).add(0, kColumnWise, 2, 4, 501));
  CHECK(pins_of(tight, 12).tables == std::vector<std::uint32_t>{0});
  CHECK(pins_of(tight, 12).sizes == std::vector<std::uint32_t>{2});
}

TEST_CASE("pins: ranks are exchanged only if one shard of an option is the smallest") {
  const auto with_rows = [](std::int64_t second_hbm) {
    return beside(SpaceBuilder(one_host_spec(5, 2))
                      .add(0, kTableWise, 1, 9, 10)
                      .add_runs(4, kRowWise, {{1, 1, 5}, {1, 0.5, second_hbm}}));
  };
  CHECK(pins_of(with_rows(5), 14).tables == std::vector<std::uint32_t>{0});
  CHECK(pins_of(with_rows(6), 14).tables.empty());
}

}  // namespace shardwright::pins_test
