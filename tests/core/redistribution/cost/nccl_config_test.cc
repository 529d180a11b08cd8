// NCCL configurations: how the groups of a mesh are spread over nodes, which devices are known,
// what is refused.
#include "core/redistribution/cost/nccl_tables.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "core/redistribution/cost/nccl_costs.h"

namespace shardwright::nccl_config_test {

namespace {

using namespace shardwright::redistribution;

std::string refused_at(const NcclConfig& config) {
  const auto costs = NcclCosts::make({2}, config);
  return costs.ok() ? "accepted" : costs.error().where;
}

void check_axis(const NcclConfig& config, const MeshShape& mesh, std::size_t axis,
                std::int64_t nodes, std::int64_t ranks_per_node) {
  const NcclAxis found = nccl_axis(config, mesh, axis);
  CHECK(found.ranks == mesh[axis]);
  CHECK(found.nodes == nodes);
  CHECK(found.ranks_per_node == ranks_per_node);
}

// Returns how many members of device 0's group each node has. Counts only nodes with members, and
// returns -1 if their numbers differ.
std::int64_t members_per_node(const NcclConfig& config, const MeshShape& mesh, const Axes& axes) {
  std::map<std::int64_t, std::int64_t> members;
  for (const std::int64_t device : devices_through(mesh, axes, 0))
    ++members[device / config.gpus_per_node];
  for (const auto& [node, count] : members) {
    if (count != members.begin()->second) return -1;
  }
  return members.begin()->second;
}

}  // namespace

TEST_CASE("NCCL configuration: inner axes fill the nodes first") {
  const NcclConfig config = h100_nccl_config();
  check_axis(config, {4, 2}, 1, 1, 2);
  check_axis(config, {4, 2}, 0, 1, 4);
  check_axis(config, {4, 4}, 0, 2, 2);
  check_axis(config, {4, 16}, 1, 2, 8);
  check_axis(config, {4, 16}, 0, 4, 1);
  // Eight devices fill a node. The other four do not count as a second node.
  check_axis(config, {12}, 0, 1, 8);
  check_axis(gb200_nccl_config(), {64}, 0, 1, 64);
}

TEST_CASE("NCCL configuration: several axes are one group of all their ranks") {
  const NcclConfig config = h100_nccl_config();
  std::size_t groups = 0;
  for (const MeshShape& mesh : {MeshShape{2, 2, 2, 2}, MeshShape{4, 2, 8}, MeshShape{3, 2, 4, 2},
                                MeshShape{2, 16, 2}, MeshShape{1, 4, 4}}) {
    for (std::uint32_t set = 1; set < std::uint32_t{1} << mesh.size(); ++set) {
      Axes axes;
      for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
        if ((set >> axis & 1) != 0) axes.push_back(static_cast<std::uint8_t>(axis));
      }
      const NcclAxis found = nccl_group(config, mesh, axes);
      CHECK(found.ranks == devices_along(mesh, axes));
      CHECK(found.ranks_per_node == members_per_node(config, mesh, axes));
      CHECK(found.nodes * found.ranks_per_node == found.ranks);
      groups += axes.size() > 1 ? 1U : 0U;
    }
  }
  CHECK(groups > 20);
  // The axes are not adjacent: the group has ranks 0, 1, 8 and 9.
  CHECK(nccl_group(config, {2, 4, 2}, {0, 2}).nodes == 2);
  CHECK(nccl_group(config, {2, 4, 2}, {0, 2}).ranks_per_node == 2);
  // Ranks that do not fill a node are not counted, as with one axis.
  CHECK(nccl_group(config, {3, 4}, {0, 1}).nodes == 1);
}

TEST_CASE("NCCL configuration: a channel has its share of the bandwidth") {
  NcclConfig config = a100_nccl_config();
  CHECK(nccl_axis(config, {8}, 0).channels == 12);
  CHECK(nccl_axis(config, {8}, 0).bw_intra_gb_per_s == 87.7 / 12);
  config.channels = 4;
  CHECK(nccl_axis(config, {8}, 0).channels == 4);
  CHECK(nccl_axis(config, {8}, 0).bw_inter_gb_per_s == 25.0 / 4);
  CHECK(nccl_axis(gb200_nccl_config(), {8}, 0).channels == 16);
}

TEST_CASE("NCCL configuration: devices by name, on meshes that fill nodes") {
  const auto architecture = [](const char* name, const MeshShape& mesh) {
    const auto config = find_nccl_config(name, mesh);
    REQUIRE(config.has_value());
    return config->architecture;
  };
  CHECK(architecture("NVIDIA A100-SXM4-80GB", {8}) == GpuArchitecture::kAmpere);
  CHECK(architecture("NVIDIA H100 80GB HBM3", {2, 8}) == GpuArchitecture::kHopper);
  CHECK(architecture("NVIDIA H200", {4, 4}) == GpuArchitecture::kHopper);
  CHECK(architecture("NVIDIA B200", {72}) == GpuArchitecture::kBlackwell);
  CHECK(architecture("NVIDIA GB200", {2, 72}) == GpuArchitecture::kBlackwell);
  CHECK_FALSE(find_nccl_config("NVIDIA GB200", {8}).has_value());
  CHECK_FALSE(find_nccl_config("NVIDIA H100", {12}).has_value());
  CHECK_FALSE(find_nccl_config("Tesla V100", {8}).has_value());
  CHECK_FALSE(a100_nccl_config().has_nvswitch);
  CHECK(h100_nccl_config().has_nvswitch);
}

TEST_CASE("NCCL configuration: what is refused") {
  NcclConfig config = h100_nccl_config();
  CHECK(refused_at(config) == "accepted");
  config.gpus_per_node = 0;
  CHECK(refused_at(config) == "/gpus_per_node");
  config = h100_nccl_config();
  config.channels = -1;
  CHECK(refused_at(config) == "/channels");
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    config = h100_nccl_config();
    config.bw_intra_gb_per_s = bad;
    CHECK(refused_at(config) == "/bw_intra_gb_per_s");
    config = h100_nccl_config();
    config.bw_inter_gb_per_s = bad;
    CHECK(refused_at(config) == "/bw_inter_gb_per_s");
    config = h100_nccl_config();
    config.net_latency_us = bad;
    CHECK(refused_at(config) == (bad == 0 ? "accepted" : "/net_latency_us"));
  }
  CHECK(NcclCosts::make({}, h100_nccl_config()).error().where == "/mesh");
}

TEST_CASE("NCCL costs: a ring of one device has a latency and moves bytes in no time") {
  const NcclCosts costs = NcclCosts::make({1, 8}, a100_nccl_config()).value();
  const double small = costs.microseconds(Collective::kAllGather, 0, 1);
  CHECK(small == 6.6);
  CHECK(costs.microseconds(Collective::kAllGather, 0, 1e12) == small);
}

TEST_CASE("NCCL costs: axes that follow each other cost what the axis of all their ranks does") {
  for (const NcclConfig& config :
       {a100_nccl_config(), h100_nccl_config(), h100_nccl_config(4), gb200_nccl_config(8)}) {
    const NcclCosts costs = NcclCosts::make({4, 2, 4}, config).value();
    const NcclCosts outer = NcclCosts::make({8, 4}, config).value();
    const NcclCosts inner = NcclCosts::make({4, 8}, config).value();
    const NcclCosts whole = NcclCosts::make({32}, config).value();
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter,
                                        Collective::kAllReduce, Collective::kAllToAll}) {
      for (double bytes = 1; bytes < 1e10; bytes *= 7) {
        const auto over = [&](const Axes& axes) {
          return costs.microseconds_over(collective, axes, bytes);
        };
        CHECK(over({0}) == costs.microseconds(collective, 0, bytes));
        CHECK(over({1}) == costs.microseconds(collective, 1, bytes));
        CHECK(over({0, 1}) == outer.microseconds(collective, 0, bytes));
        CHECK(over({2, 1}) == inner.microseconds(collective, 1, bytes));
        CHECK(over({0, 1, 2}) == whole.microseconds(collective, 0, bytes));
      }
    }
    CHECK(std::isinf(costs.permute_microseconds({0, 2}, 1)));
  }
}

TEST_CASE("NCCL costs: whole bytes count") {
  const NcclCosts costs = NcclCosts::make({8}, h100_nccl_config()).value();
  CHECK(costs.microseconds(Collective::kAllToAll, 0, 1000.9) ==
        costs.microseconds(Collective::kAllToAll, 0, 1000));
}

}  // namespace shardwright::nccl_config_test
