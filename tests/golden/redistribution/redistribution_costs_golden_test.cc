// Costs of redistributions equal those of AutoParallel and DTensor to the last bit.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/nccl_costs.h"
#include "core/redistribution/cost/tensor_redistribution.h"
#include "tests/golden/redistribution/recorded_costs.h"

namespace shardwright::redistribution_costs_golden_test {

namespace {

using namespace shardwright;
using namespace shardwright::redistribution;
using nlohmann::json;
using test_support::config_of;
using test_support::load;
using test_support::microseconds_of;
using test_support::require;

// Reads "R", "S1" or "Psum".
AxisPlacement placement_of(const std::string& text) {
  if (text == "R") return AxisPlacement::replicate();
  if (text[0] == 'S') return AxisPlacement::shard(std::stoul(text.substr(1)));
  const std::string op = text.substr(1);
  if (op == "sum") return AxisPlacement::partial(ReduceOp::kSum);
  if (op == "avg") return AxisPlacement::partial(ReduceOp::kAvg);
  if (op == "min") return AxisPlacement::partial(ReduceOp::kMin);
  if (op == "max") return AxisPlacement::partial(ReduceOp::kMax);
  REQUIRE(text == "Pproduct");
  return AxisPlacement::partial(ReduceOp::kProduct);
}

std::vector<AxisPlacement> placements_of(const json& texts) {
  std::vector<AxisPlacement> placements;
  for (const json& text : texts)
    placements.push_back(placement_of(text));
  return placements;
}

// Reads the first six entries of a row.
RedistributionSpec spec_of(const json& row) {
  return {row[0], row[1], row[2], row[3], placements_of(row[4]), placements_of(row[5])};
}

std::unique_ptr<CollectiveCosts> costs_of(const std::string& model, const MeshShape& mesh,
                                          std::int64_t devices_per_host) {
  if (model == "flat") {
    return std::make_unique<FlatCosts>(require(FlatCosts::make(mesh, devices_per_host)));
  }
  return std::make_unique<NcclCosts>(
      require(NcclCosts::make(mesh, config_of(model, devices_per_host))));
}

}  // namespace

TEST_CASE("golden redistribution costs: AutoParallel's, to the last bit") {
  const json golden = load("autoparallel_redistribution");
  REQUIRE(golden["rows"].size() == 3000);
  for (const json& row : golden["rows"]) {
    INFO(row.dump());
    const Redistribution asked = require(Redistribution::make(spec_of(row)));
    const auto costs = costs_of(row[6], asked.mesh(), row[7]);
    const auto bandwidth = memory_bytes_per_second(row[8].get<std::string>());
    REQUIRE(bandwidth.has_value());
    CHECK(autoparallel_redistribution_us(asked, *costs, *bandwidth) == microseconds_of(row[9]));
  }
}

TEST_CASE("golden redistribution costs: DTensor's, to the last bit") {
  const json golden = load("dtensor_redistribution");
  REQUIRE(golden["rows"].size() == 3000);
  for (const json& row : golden["rows"]) {
    INFO(row.dump());
    const Redistribution asked = require(Redistribution::make(spec_of(row)));
    const DTensorCosts costs = require(DTensorCosts::make(asked.mesh(), row[6]));
    CHECK(dtensor_redistribution_us(asked, costs) == microseconds_of(row[7]));
  }
}

TEST_CASE("golden redistribution costs: DTensor's steps of a plan, to the last bit") {
  const json golden = load("dtensor_steps");
  REQUIRE(golden["rows"].size() == 1000);
  for (const json& row : golden["rows"]) {
    INFO(row.dump());
    const Redistribution asked = require(Redistribution::make(spec_of(row)));
    const DTensorCosts costs = require(DTensorCosts::make(asked.mesh(), row[6]));
    double microseconds = 0;
    for (std::size_t axis = 0; axis < asked.mesh().size(); ++axis) {
      microseconds += dtensor_step(costs, axis, asked.source()[axis], asked.target()[axis],
                                   asked.source_bytes_per_device())
                          .microseconds;
    }
    CHECK(microseconds == microseconds_of(row[7]));
  }
}

}  // namespace shardwright::redistribution_costs_golden_test
