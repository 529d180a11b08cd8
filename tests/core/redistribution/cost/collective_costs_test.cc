// Cost models: meshes that are refused, hosts, and the user's own links and times.
#include "core/redistribution/cost/collective_costs.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/redistribution/cost/measured_costs.h"
#include "core/redistribution/cost/topology_costs.h"

namespace shardwright::collective_costs_test {

namespace {

using namespace shardwright::redistribution;

constexpr Collective kAll[] = {Collective::kAllGather, Collective::kReduceScatter,
                               Collective::kAllReduce, Collective::kAllToAll};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Returns the place of the error and its message, or "accepted".
template <class T>
std::string refusal(const Result<T>& result) {
  if (result.ok()) return "accepted";
  CHECK(result.error().code == ErrorCode::kInvalidInput);
  return result.error().to_string();
}

std::vector<MeasuredTable> tables_of(std::size_t axis, const std::vector<MeasuredRow>& rows) {
  std::vector<MeasuredTable> tables;
  for (const Collective collective : kAll)
    tables.push_back({axis, collective, rows});
  return tables;
}

}  // namespace

TEST_CASE("collective costs: a mesh has axes, devices, and at most 2^31 of them") {
  CHECK(refusal(FlatCosts::make({}, 8)) == "/mesh: a mesh has at least one axis");
  CHECK(refusal(FlatCosts::make({2, 0}, 8)) == "/mesh/1: the axis has no device");
  CHECK(refusal(DTensorCosts::make({2, -4}, 8)) == "/mesh/1: the axis has no device");
  CHECK(refusal(DTensorCosts::make({1 << 16, 1 << 16}, 8)) == "/mesh: more than 2^31 devices");
  CHECK(refusal(DTensorCosts::make({1 << 16, 1 << 15}, 8)) == "accepted");
  CHECK(refusal(FlatCosts::make({2}, 0)) == "/devices_per_host: must be at least 1");
  CHECK(refusal(DTensorCosts::make({2}, 0)) == "/devices_per_host: must be at least 1");
}

TEST_CASE("collective costs: an axis is between hosts if it ends outside of one") {
  const auto links = dtensor_links({2, 2, 4}, 8);
  REQUIRE(links.size() == 3);
  CHECK(links[2].bandwidth_gb_per_s == 87.7);
  CHECK(links[1].bandwidth_gb_per_s == 87.7);
  CHECK(links[0].bandwidth_gb_per_s == 87.7 * 0.22);
  CHECK(links[1].latency_us == 0.6);
  CHECK(links[0].latency_us == 2.7);
}

TEST_CASE("collective costs: DTensor counts parts of bytes, AutoParallel whole ones") {
  const DTensorCosts dtensor = DTensorCosts::make({8}, 8).value();
  const FlatCosts flat = FlatCosts::make({8}, 8).value();
  const double exact = dtensor.microseconds(Collective::kAllReduce, 0, 1e9 + 0.75);
  const double whole = dtensor.microseconds(Collective::kAllReduce, 0, 1e9);
  CHECK(exact > whole);
  CHECK(flat.microseconds(Collective::kAllReduce, 0, 1e9 + 0.75) == whole);
  CHECK(dtensor.microseconds(Collective::kAllToAll, 0, 1e9) ==
        dtensor.microseconds(Collective::kAllGather, 0, 1e9) + 1.0);
  CHECK(flat.microseconds(Collective::kAllToAll, 0, 1e9) ==
        flat.microseconds(Collective::kAllGather, 0, 1e9) * 5);
}

TEST_CASE("topology costs: rings over the links of each axis") {
  const AxisLink within{2, 100};
  const AxisLink between{10, 25};
  const auto links = links_of_hosts({2, 4}, 4, within, between);
  REQUIRE(links.size() == 2);
  CHECK(links[0].bandwidth_gb_per_s == 25);
  CHECK(links[1].bandwidth_gb_per_s == 100);

  const TopologyCosts costs = TopologyCosts::make({2, 4}, links).value();
  // 3 steps of 2 us each; 3/4 of 4 MB at 100,000 bytes per us.
  CHECK(costs.microseconds(Collective::kAllGather, 1, 4e6) == 3 * 2 + 30);
  CHECK(costs.microseconds(Collective::kReduceScatter, 1, 4e6) == 36);
  CHECK(costs.microseconds(Collective::kAllToAll, 1, 4e6) == 36);
  CHECK(costs.microseconds(Collective::kAllReduce, 1, 4e6) == 72);
  // 1 step of 10 us; half of 4 MB at 25,000 bytes per us.
  CHECK(costs.microseconds(Collective::kAllGather, 0, 4e6) == 10 + 80);
}

TEST_CASE("topology costs: an axis of one device costs nothing") {
  const TopologyCosts costs = TopologyCosts::make({1}, {{5, 10}}).value();
  for (const Collective collective : kAll)
    CHECK(costs.microseconds(collective, 0, 1e9) == 0);
}

TEST_CASE("topology costs: links that are refused") {
  CHECK(refusal(TopologyCosts::make({2, 2}, {{1, 1}})) == "/links: 1 links for a mesh of 2 axes");
  for (const double latency : {-1.0, kInfinity, kNaN}) {
    CHECK(refusal(TopologyCosts::make({2}, {{latency, 1}})) ==
          "/links/0/latency_us: must be a finite number that is not negative");
  }
  for (const double bandwidth : {0.0, -1.0, kInfinity, kNaN}) {
    CHECK(refusal(TopologyCosts::make({2, 2}, {{1, 1}, {1, bandwidth}})) ==
          "/links/1/bandwidth_gb_per_s: must be a finite number above 0");
  }
}

TEST_CASE("measured costs: lines between points, and beyond the last") {
  const std::vector<MeasuredRow> rows = {{1000, 10}, {3000, 20}, {4000, 50}};
  const MeasuredCosts costs = MeasuredCosts::make({4}, tables_of(0, rows)).value();
  for (const Collective collective : kAll) {
    CHECK(costs.microseconds(collective, 0, 0) == 10);
    CHECK(costs.microseconds(collective, 0, 1000) == 10);
    CHECK(costs.microseconds(collective, 0, 2000) == 15);
    CHECK(costs.microseconds(collective, 0, 3000) == 20);
    CHECK(costs.microseconds(collective, 0, 3500) == 35);
    CHECK(costs.microseconds(collective, 0, 4000) == 50);
    CHECK(costs.microseconds(collective, 0, 6000) == 110);
  }
}

TEST_CASE("measured costs: each axis and collective has its own table") {
  std::vector<MeasuredTable> tables;
  double time = 1;
  for (const std::size_t axis : {std::size_t{2}, std::size_t{0}}) {
    for (const Collective collective : kAll) {
      tables.push_back({axis, collective, {{0, time}, {1, time}}});
      time *= 2;
    }
  }
  const MeasuredCosts costs = MeasuredCosts::make({2, 1, 2}, tables).value();
  CHECK(costs.microseconds(Collective::kAllGather, 2, 5) == 1);
  CHECK(costs.microseconds(Collective::kReduceScatter, 2, 5) == 2);
  CHECK(costs.microseconds(Collective::kAllToAll, 2, 5) == 8);
  CHECK(costs.microseconds(Collective::kAllReduce, 0, 5) == 64);
  CHECK(costs.microseconds(Collective::kAllReduce, 1, 5) == 0);
}

TEST_CASE("measured costs: tables that are refused, by axis, collective and row") {
  const auto refused = [](const MeasuredTable& last) {
    std::vector<MeasuredTable> tables = tables_of(1, {{0, 1}, {1, 2}});
    tables.back() = last;
    return refusal(MeasuredCosts::make({1, 2}, tables));
  };
  const Collective kind = Collective::kAllToAll;
  CHECK(refused({1, kind, {{0, 1}, {1, 2}}}) == "accepted");
  CHECK(refused({2, kind, {{0, 1}, {1, 2}}}) == "/tables/3/axis: the mesh has no axis 2");
  CHECK(refused({1, Collective::kAllGather, {{0, 1}, {1, 2}}}) ==
        "/tables/3: axis 1, all-gather has a table already");
  CHECK(refused({0, kind, {{0, 1}, {1, 2}}}) == "/tables: axis 1, all-to-all has no table");
  CHECK(refused({1, kind, {{0, 1}}}) ==
        "/tables/3/rows: axis 1, all-to-all has fewer than two rows");
  CHECK(refused({1, kind, {{0, 1}, {5, 2}, {5, 3}}}) ==
        "/tables/3/rows/2: axis 1, all-to-all, row 2 is not larger than the one before");
  CHECK(refused({1, kind, {{0, 3}, {5, 1}}}) ==
        "/tables/3/rows/1: axis 1, all-to-all, row 1 takes less time than the one before, so "
        "larger sizes would take ever less");
  for (const double bad : {-1.0, kInfinity, kNaN}) {
    const std::string message =
        "/tables/3/rows/1: axis 1, all-to-all, row 1 has a number that is negative or not finite";
    CHECK(refused({1, kind, {{0, 1}, {1, bad}}}) == message);
    CHECK(refused({1, kind, {{0, 1}, {bad, 1}}}) == message);
  }
}

}  // namespace shardwright::collective_costs_test
