// Times of collectives equal those of AutoParallel and DTensor to the last bit.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/nccl_costs.h"
#include "tests/golden/redistribution/recorded_costs.h"

namespace shardwright::collective_costs_golden_test {

namespace {

using namespace shardwright;
using namespace shardwright::redistribution;
using nlohmann::json;
using test_support::config_of;
using test_support::load;
using test_support::microseconds_of;
using test_support::require;

Collective collective_of(const std::string& name) {
  static const std::map<std::string, Collective> by_name = {
      {"allgather", Collective::kAllGather},
      {"reduce_scatter", Collective::kReduceScatter},
      {"allreduce", Collective::kAllReduce},
      {"all_to_all", Collective::kAllToAll}};
  return by_name.at(name);
}

GpuArchitecture architecture_of(const std::string& name) {
  if (name == "AMPERE") return GpuArchitecture::kAmpere;
  if (name == "HOPPER") return GpuArchitecture::kHopper;
  REQUIRE(name == "BLACKWELL");
  return GpuArchitecture::kBlackwell;
}

NcclConfig config_of(const json& recorded) {
  NcclConfig config;
  config.architecture = architecture_of(recorded["architecture"]);
  config.gpus_per_node = recorded["gpus_per_node"];
  config.bw_intra_gb_per_s = recorded["bw_intra"];
  config.bw_inter_gb_per_s = recorded["bw_inter"];
  if (!recorded["num_channels"].is_null()) config.channels = recorded["num_channels"];
  config.has_nvswitch = recorded["has_nvswitch"];
  config.has_collnet = recorded["has_collnet"];
  config.net_latency_us = recorded["net_latency"];
  return config;
}

nccl::Group group_of(const NcclConfig& config, const MeshShape& mesh, std::size_t axis) {
  return nccl::Group::make(config, nccl_axis(config, mesh, axis));
}

nccl::Algorithm algorithm_of(const std::string& name) {
  static const std::map<std::string, nccl::Algorithm> by_name = {
      {"TREE", nccl::Algorithm::kTree},
      {"RING", nccl::Algorithm::kRing},
      {"COLLNET_DIRECT", nccl::Algorithm::kCollnetDirect},
      {"COLLNET_CHAIN", nccl::Algorithm::kCollnetChain},
      {"NVLS", nccl::Algorithm::kNvls},
      {"NVLS_TREE", nccl::Algorithm::kNvlsTree}};
  return by_name.at(name);
}

nccl::Protocol protocol_of(const std::string& name) {
  if (name == "LL") return nccl::Protocol::kLl;
  if (name == "LL128") return nccl::Protocol::kLl128;
  REQUIRE(name == "SIMPLE");
  return nccl::Protocol::kSimple;
}

}  // namespace

TEST_CASE("golden collective costs: AutoParallel's NCCL model, to the last bit") {
  const json golden = load("autoparallel_nccl");
  REQUIRE(golden["rows"].size() == 1008);
  for (const json& row : golden["rows"]) {
    INFO(row.dump());
    const NcclCosts costs = require(NcclCosts::make(row[2], config_of(row[0], row[1])));
    CHECK(costs.microseconds(collective_of(row[4]), row[3], row[5]) == row[6].get<double>());
  }
}

TEST_CASE("golden collective costs: NCCL configurations of every kind, to the last bit") {
  const json golden = load("autoparallel_nccl_variants");
  REQUIRE(golden["rows"].size() == 6000);
  for (const json& row : golden["rows"]) {
    INFO(row.dump());
    const NcclCosts costs = require(NcclCosts::make(row[1], config_of(row[0])));
    CHECK(costs.microseconds(collective_of(row[3]), row[2], row[4]) == row[5].get<double>());
  }
}

TEST_CASE("golden collective costs: each of NCCL's algorithms and protocols, to the last bit") {
  const json golden = load("autoparallel_nccl_methods");
  REQUIRE(golden["rows"].size() == 3000);
  for (const json& row : golden["rows"]) {
    INFO(row.dump());
    const nccl::Group group = group_of(config_of(row[0]), row[1], row[2]);
    const nccl::Method method = {algorithm_of(row[5]), protocol_of(row[6])};
    CHECK(nccl::method_us(group, collective_of(row[3]), method, row[4]) == microseconds_of(row[7]));
  }
}

TEST_CASE("golden collective costs: AutoParallel's default model, to the last bit") {
  const json golden = load("autoparallel_flat");
  REQUIRE(golden["rows"].size() == 600);
  for (const json& row : golden["rows"]) {
    INFO(row.dump());
    const FlatCosts costs = require(FlatCosts::make(row[1], row[0]));
    CHECK(costs.microseconds(collective_of(row[3]), row[2], row[4]) == row[5].get<double>());
  }
}

TEST_CASE("golden collective costs: DTensor's model, to the last bit") {
  const json golden = load("dtensor_collectives");
  REQUIRE(golden["rows"].size() == 600);
  for (const json& row : golden["rows"]) {
    INFO(row.dump());
    const DTensorCosts costs = require(DTensorCosts::make(row[1], row[0]));
    CHECK(costs.microseconds(collective_of(row[3]), row[2], row[4]) == row[5].get<double>());
  }
}

}  // namespace shardwright::collective_costs_golden_test
