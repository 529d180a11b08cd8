// Neighbourhoods solved to optimality: small models as a whole, large ones part by part.
#include "search/embedding/best/exact/neighbourhood_lane.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <stop_token>

#include "tests/support/embedding/naive/naive_allocation.h"
#include "tests/support/embedding/small_models.h"
#include "tests/support/random.h"

namespace shardwright::neighbourhood_lane_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

RatedAllocation rough_start(const Model& model) {
  AnnealingLane stream(model.context, 1, 0);
  stream.run(20'000, 0, Budget());
  REQUIRE(stream.best().has_value());
  return *stream.best();
}

}  // namespace

TEST_CASE("neighbourhoods: small models are solved as a whole, or proved to have no allocation") {
  int feasible = 0;
  int infeasible = 0;
  for (const std::uint64_t seed : seeds({41, 42})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 200; ++i) {
      INFO("model ", i);
      const Model model(small_space(random));
      const std::optional<double> least = least_rating(model.choices);
      NeighbourhoodLane stream(model.context, 1, 0);
      for (int round = 0; round < 8 && !stream.solved(); ++round)
        stream.run(1'000'000, 0, Budget());
      CHECK(stream.solved());
      REQUIRE(stream.best().has_value() == least.has_value());
      ++(least ? feasible : infeasible);
      if (!least) continue;
      CHECK(stream.best()->rating == doctest::Approx(*least).epsilon(1e-9));
      check_by_verifier(model, *stream.best());
    }
  }
  CHECK(feasible > 100);
  CHECK(infeasible > 20);
}

TEST_CASE(
    "neighbourhoods: a large model is improved from its current allocation, within the memory") {
  for (const std::int64_t hbm : {60, 80, 110}) {
    INFO("hbm ", hbm);
    const Model model(forty_tables(hbm));
    const RatedAllocation start = rough_start(model);
    NeighbourhoodLane stream(model.context, 1, 0);
    stream.run(100'000, 0, Budget());
    CHECK_FALSE(stream.best().has_value());
    stream.offer(to_rated_plan(model, start));
    stream.run(2'000'000, 0, Budget());
    REQUIRE(stream.best().has_value());
    CHECK_FALSE(stream.solved());
    CHECK(stream.best()->rating < start.rating);
    CHECK(stream.best()->rating >= model.context.bound() * (1 - 1e-9));
    check_by_verifier(model, *stream.best());
  }
}

TEST_CASE("neighbourhoods: the same seed and work give the same allocation") {
  const Model model(forty_tables(60));
  const RatedAllocation start = rough_start(model);
  NeighbourhoodLane once(model.context, 5, 0);
  NeighbourhoodLane again(model.context, 5, 0);
  for (NeighbourhoodLane* stream : {&once, &again}) {
    stream->offer(to_rated_plan(model, start));
    stream->run(300'000, 0, Budget());
  }
  CHECK(once.work() == again.work());
  CHECK(once.best()->allocation.choice == again.best()->allocation.choice);
  CHECK(once.best()->allocation.ranks == again.best()->allocation.ranks);
}

TEST_CASE("neighbourhoods: reaching a bound ends the work, and so does an interruption") {
  constexpr std::uint64_t kSettling = 1'000;  // reading the ranks and tables of the offered plan
  const Model model(forty_tables(1000));
  NeighbourhoodLane stream(model.context, 1, 0);
  stream.offer(to_rated_plan(model, rough_start(model)));
  stream.run(10'000'000, 1e9, Budget());
  CHECK(stream.work() < kSettling);
  std::stop_source stop;
  stop.request_stop();
  stream.run(10'000'000, 0, Budget({}, {}, stop.get_token()));
  CHECK(stream.work() < kSettling);
}

}  // namespace shardwright::neighbourhood_lane_test
