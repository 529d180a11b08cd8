#include "runtime/embedding/sweep.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/embedding/sweep_points.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::sweep_test {

namespace {

using namespace shardwright;
using embedding::SweepGrid;
using test_support::problem_spec;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Tables of 4 GiB that use only HBM.
embedding::ProblemSpec large_tables(std::size_t count) {
  embedding::ProblemSpec spec = problem_spec(count, 4, 4, 16'000'000, 64);
  for (embedding::Table& table : spec.tables) {
    table.constraints.emplace();
    table.constraints->compute_kernels = {embedding::ComputeKernel::kFused};
  }
  return spec;
}

PlanOptions quick() {
  PlanOptions options;
  options.threads = 2;
  options.work_limit = 200'000;
  return options;
}

SweepGrid grid() {
  SweepGrid grid;
  grid.ranks = {2, 4, 8};
  grid.ranks_per_host = 4;
  grid.hbm_bytes = {40 * kGiB, 8 * kGiB, 16 * kGiB};
  grid.batch_sizes = {512, 1024};
  return grid;
}

}  // namespace

TEST_CASE("sweep: every combination is a point, in the order of the grid") {
  const auto sweep = sweep_embedding(large_tables(8), grid(), quick());
  REQUIRE(sweep.ok());
  REQUIRE(sweep->points.size() == 18);
  std::size_t i = 0;
  for (const std::int64_t ranks : {2, 4, 8}) {
    for (const std::int64_t batch : {512, 1024}) {
      for (const std::int64_t hbm : {40 * kGiB, 8 * kGiB, 16 * kGiB}) {
        const SweepPoint& point = sweep->points[i++];
        CHECK(point.ranks == ranks);
        CHECK(point.ranks_per_host == std::min<std::int64_t>(ranks, 4));
        CHECK(point.batch_size == batch);
        CHECK(point.hbm_bytes == hbm);
      }
    }
  }
}

TEST_CASE("sweep: more memory never fits less nor rates worse, and bounds hold") {
  const auto sweep = sweep_embedding(large_tables(8), grid(), quick());
  REQUIRE(sweep.ok());
  bool any = false;
  bool none = false;
  for (const SweepPoint& less : sweep->points) {
    any = any || less.fits();
    none = none || !less.fits();
    if (less.fits()) {
      CHECK(less.peak_hbm_bytes <= *less.hbm_bytes);
      if (less.lower_bound) CHECK(*less.lower_bound <= *less.rating);
    } else {
      CHECK_FALSE(why_not(less).empty());
    }
    for (const SweepPoint& more : sweep->points) {
      if (more.ranks != less.ranks || more.batch_size != less.batch_size ||
          *more.hbm_bytes < *less.hbm_bytes || !less.fits()) {
        continue;
      }
      CHECK(more.fits());
      CHECK(*more.rating <= *less.rating);
    }
  }
  CHECK(any);
  CHECK(none);
}

TEST_CASE("sweep: a point equals planning it alone if there is a single memory size") {
  SweepGrid one = grid();
  one.hbm_bytes = {40 * kGiB};
  const auto sweep = sweep_embedding(large_tables(8), one, quick());
  REQUIRE(sweep.ok());
  embedding::ProblemSpec spec = large_tables(8);
  spec.topology.world_size = 8;
  spec.topology.local_world_size = 4;
  spec.topology.hbm_cap_bytes = 40 * kGiB;
  spec.batch_size = 1024;
  const auto alone = plan_embedding(
      std::make_shared<const embedding::Problem>(embedding::Problem::make(std::move(spec)).value()),
      quick());
  REQUIRE(alone.ok());
  CHECK(sweep->points.back().rating == alone->best_rating);
  CHECK(sweep->points.back().lower_bound == alone->lower_bound);
}

TEST_CASE("sweep: the smallest machine and the best rating are found among the points") {
  Sweep sweep;
  const auto add = [&](std::int64_t ranks, std::int64_t hbm, std::optional<double> rating) {
    SweepPoint& point = sweep.points.emplace_back();
    point.ranks = ranks;
    point.hbm_bytes = hbm;
    point.batch_size = 512;
    point.rating = rating;
  };
  add(16, 40, 2.0);
  add(16, 80, 1.0);
  add(8, 40, {});
  add(8, 80, 3.0);
  const std::vector<SmallestMachine> machines = smallest_machines(sweep);
  REQUIRE(machines.size() == 2);
  CHECK(machines[0].hbm_bytes == 40);
  CHECK(machines[0].ranks == 16);
  CHECK(machines[1].hbm_bytes == 80);
  CHECK(machines[1].ranks == 8);
  CHECK(best_by_ranks(sweep) == std::vector<std::size_t>{1, 3});
  sweep.points = {sweep.points[2]};
  CHECK_FALSE(sweep.any_fits());
  CHECK_FALSE(smallest_machines(sweep)[0].ranks.has_value());
  CHECK(best_by_ranks(sweep).empty());
}

TEST_CASE("sweep: without lists, the problem itself is the only point") {
  const auto sweep = sweep_embedding(large_tables(2), {}, quick());
  REQUIRE(sweep.ok());
  REQUIRE(sweep->points.size() == 1);
  CHECK(sweep->points[0].ranks == 4);
  CHECK(sweep->points[0].batch_size == 512);
}

TEST_CASE("sweep: invalid combinations are refused") {
  SweepGrid odd = grid();
  odd.ranks = {6};  // not a multiple of the 4 ranks of a host
  embedding::ProblemSpec old = large_tables(2);
  old.torchrec = embedding::TorchRecRelease::kA48cef79;
  CHECK_FALSE(sweep_embedding(old, odd, quick()).ok());
  odd.ranks = {0};
  CHECK(sweep_embedding(large_tables(2), odd, quick()).error().where == "ranks");
}

TEST_CASE("sweep: a machine that there cannot be is a point that says why") {
  SweepGrid odd = grid();
  odd.ranks = {4, 6};  // 6 ranks do not fill hosts of 4
  embedding::ProblemSpec old = large_tables(2);
  old.torchrec = embedding::TorchRecRelease::kA48cef79;
  const auto sweep = sweep_embedding(old, odd, quick());
  REQUIRE(sweep.ok());
  REQUIRE(sweep->points.size() == 12);
  for (const SweepPoint& point : sweep->points) {
    CHECK(point.invalid.has_value() == (point.ranks == 6));
    if (point.ranks != 6) continue;
    CHECK_FALSE(point.fits());
    CHECK(point.invalid->where == "/topology/local_world_size");
    CHECK(why_not(point) == point.invalid->to_string());
    CHECK(point.stopped_by == StopReason::kFinished);
  }
  CHECK(sweep->any_fits());
}

TEST_CASE("sweep: speeds and prices, by hand") {
  embedding::ProblemSpec problem;
  SweepPoint point;
  point.ranks = 16;
  point.batch_size = 512;
  CHECK_FALSE(samples_per_second(problem, point).has_value());
  point.rating = 8;  // ms
  CHECK(samples_per_second(problem, point) == 16 * 512 / 0.008);
  CHECK_FALSE(price_per_billion(problem, point).has_value());
  point.price_per_hour = 32;
  CHECK(*price_per_billion(problem, point) ==
        doctest::Approx(1e9 / (16 * 512 / 0.008) / 3600 * 32));
  problem.perf_model = embedding::PerfModel::kStorage;
  CHECK_FALSE(samples_per_second(problem, point).has_value());
}

TEST_CASE("sweep: the Pareto front of ranks, memory and speed, and of price and speed") {
  const embedding::ProblemSpec problem;
  Sweep sweep;
  const auto add = [&](std::int64_t ranks, std::int64_t gib, std::optional<double> rating) {
    SweepPoint& point = sweep.points.emplace_back();
    point.ranks = ranks;
    point.hbm_bytes = gib * kGiB;
    point.batch_size = 1024 / ranks;
    point.rating = rating;
    point.price_per_hour = std::nullopt;
  };
  add(2, 40, 8);
  add(2, 80, 7);
  add(4, 40, 7.5);
  add(4, 80, 7);             // two ranks with this memory are as fast
  add(8, 40, std::nullopt);  // does not fit
  add(8, 80, 9);
  CHECK(pareto_front(problem, sweep) == std::vector{true, true, true, false, false, false});
  const double prices[] = {4, 6, 4, 9, 9, 9};
  for (std::size_t i = 0; i < sweep.points.size(); ++i)
    sweep.points[i].price_per_hour = prices[i];
  CHECK(pareto_front(problem, sweep) == std::vector{false, true, true, false, false, false});
}

TEST_CASE("sweep: prices are one for all, or one per size of memory") {
  SweepGrid priced = grid();
  priced.rank_prices = {2};
  const auto one = sweep_embedding(large_tables(8), priced, quick());
  REQUIRE(one.ok());
  for (const SweepPoint& point : one->points)
    CHECK(point.price_per_hour == 2.0 * static_cast<double>(point.ranks));
  priced.rank_prices = {4, 1, 2};  // for 40, 8 and 16 GiB
  const auto each = sweep_embedding(large_tables(8), priced, quick());
  REQUIRE(each.ok());
  for (const SweepPoint& point : each->points) {
    const double price = point.hbm_bytes == 40 * kGiB ? 4 : point.hbm_bytes == 8 * kGiB ? 1 : 2;
    CHECK(point.price_per_hour == price * static_cast<double>(point.ranks));
  }
  priced.rank_prices = {4, 1};
  CHECK(sweep_embedding(large_tables(8), priced, quick()).error().where == "price");
  priced.rank_prices = {-1};
  CHECK(sweep_embedding(large_tables(8), priced, quick()).error().where == "price");
}

TEST_CASE("sweep: a stop leaves the machines that were not planned, with their sizes") {
  std::stop_source stop;
  stop.request_stop();
  PlanOptions options = quick();
  options.stop = stop.get_token();
  const auto sweep = sweep_embedding(large_tables(8), grid(), options);
  REQUIRE(sweep.ok());
  REQUIRE(sweep->points.size() == 18);
  for (const SweepPoint& point : sweep->points) {
    CHECK_FALSE(point.fits());
    CHECK(point.stopped_by == StopReason::kCancelled);
    CHECK(point.ranks_per_host == std::min<std::int64_t>(point.ranks, 4));
    CHECK(point.hbm_bytes.has_value());
  }
}

}  // namespace shardwright::sweep_test
