// Topologies: defaults, memory by rank, and every input that is refused.
#include "core/embedding/problem/topology.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace shardwright::topology_test {

namespace {

using namespace shardwright::embedding;
using shardwright::Bytes;
using shardwright::ErrorCode;
using shardwright::kGibibyte;
using shardwright::Result;

TopologySpec ranks(std::int64_t world_size, std::int64_t local_world_size = 0) {
  TopologySpec spec;
  spec.world_size = world_size;
  spec.local_world_size = local_world_size;
  return spec;
}

// Returns the place that the error names, or "accepted" if there is no error.
std::string refused_at(TopologySpec spec) {
  const Result<Topology> result = Topology::make(std::move(spec));
  if (result.ok()) return "accepted";
  CHECK(result.error().code == ErrorCode::kInvalidInput);
  CHECK_FALSE(result.error().message.empty());
  return result.error().where;
}

template <class Change>
std::string refused_with(const Change& change) {
  TopologySpec spec = ranks(4, 2);
  change(spec);
  return refused_at(std::move(spec));
}

}  // namespace

TEST_CASE("topology: fills in one host and the peer's memory") {
  const Topology topology = Topology::make(ranks(8)).value();
  CHECK(topology.world_size() == 8);
  CHECK(topology.local_world_size() == 8);
  CHECK(topology.num_hosts() == 1);
  REQUIRE(topology.storage().size() == 8);
  CHECK(topology.storage()[7] == Storage{Bytes(32 * kGibibyte), Bytes(128 * kGibibyte)});
  CHECK(topology.uniform());
  CHECK(topology.device_memory_sizes().empty());
  CHECK(topology.total_storage() == Storage{Bytes(256 * kGibibyte), Bytes(1024 * kGibibyte)});
}

TEST_CASE("topology: bandwidths are the peer's, in bytes per millisecond") {
  const Topology topology = Topology::make(ranks(1)).value();
  const TopologySpec& spec = topology.spec();
  // TorchRec multiplies by 2^30 before it divides by 1000; the last bits depend on this order.
  const double gib = 1024.0 * 1024 * 1024;
  CHECK(spec.hbm_mem_bw == 897 * gib / 1000);
  CHECK(spec.ddr_mem_bw == 51 * gib / 1000);
  CHECK(spec.hbm_to_ddr_mem_bw == 32 * gib / 1000);
  CHECK(spec.ssd_mem_bw == 100 * 1024.0 * 1024 / 1000);
  CHECK(spec.intra_host_bw == 600 * gib / 1000);
  CHECK(spec.inter_host_bw == 12.5 * gib / 1000);
}

TEST_CASE("topology: counts hosts") {
  CHECK(Topology::make(ranks(24, 8)).value().num_hosts() == 3);
}

TEST_CASE("topology: a cpu has no hbm") {
  TopologySpec spec = ranks(2);
  spec.compute_device = ComputeDevice::kCpu;
  spec.hbm_cap_bytes = kGibibyte;
  const Topology topology = Topology::make(spec).value();
  CHECK_FALSE(topology.has_hbm());
  CHECK(topology.storage()[0] == Storage{Bytes(0), Bytes(128 * kGibibyte)});
}

TEST_CASE("topology: takes one size per rank") {
  TopologySpec spec = ranks(3);
  spec.custom_hbm_cap_bytes = {5, 0, 7};
  const Topology topology = Topology::make(spec).value();
  CHECK_FALSE(topology.uniform());
  CHECK(topology.storage()[1].hbm == Bytes(0));
  CHECK(topology.storage()[2].hbm == Bytes(7));
  CHECK(topology.storage()[2].ddr == Bytes(128 * kGibibyte));
  CHECK(topology.total_storage().hbm == Bytes(12));
  CHECK(topology.device_memory_sizes() == std::vector<std::int64_t>{5, 0, 7});
}

TEST_CASE("topology: SSD is counted only where it is given") {
  TopologySpec spec = ranks(3);
  const auto made = [&] { return Topology::make(spec).value(); };
  CHECK_FALSE(made().counts_ssd());
  CHECK_FALSE(made().has_ssd());
  CHECK(made().tiers().size() == 2);
  CHECK(made().storage()[0].ssd == Bytes(0));
  spec.ssd_cap_bytes = 0;
  CHECK(made().counts_ssd());
  CHECK_FALSE(made().has_ssd());
  spec.ssd_cap_bytes = 9;
  CHECK(made().storage()[1].ssd == Bytes(9));
  CHECK(made().tiers().size() == 3);
  spec.ssd_cap_bytes.reset();
  spec.custom_ssd_cap_bytes = {0, 0, 4};
  CHECK(made().has_ssd());
  CHECK_FALSE(made().uniform());
  CHECK(made().total_storage().ssd == Bytes(4));
  CHECK(made().device_memory_sizes().empty());  // rows are split evenly then
  CHECK_FALSE(made().with_storage(std::vector<Storage>(3)).has_ssd());
}

TEST_CASE("topology: on a cpu, uneven splits follow the DDR of the ranks") {
  TopologySpec spec = ranks(2);
  spec.compute_device = ComputeDevice::kCpu;
  spec.custom_ddr_cap_bytes = {1, 2};
  CHECK(Topology::make(spec).value().device_memory_sizes() == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("topology: equal custom sizes are uniform") {
  TopologySpec spec = ranks(2);
  spec.custom_hbm_cap_bytes = {5, 5};
  CHECK(Topology::make(spec).value().uniform());
}

TEST_CASE("topology: with_storage makes a new topology and leaves the old one unchanged") {
  const Topology topology = Topology::make(ranks(2)).value();
  const Topology reserved =
      topology.with_storage({Storage{Bytes(-1), Bytes(2)}, Storage{Bytes(3), Bytes(4)}});
  CHECK(reserved.storage()[0].hbm == Bytes(-1));
  CHECK_FALSE(reserved.uniform());
  CHECK(reserved.total_storage() == Storage{Bytes(2), Bytes(6)});
  CHECK(reserved.world_size() == 2);
  CHECK(topology.uniform());
  CHECK(topology.storage()[0].hbm == Bytes(32 * kGibibyte));
}

TEST_CASE("topology: refuses numbers of ranks outside 1..2^20") {
  CHECK(refused_at(ranks(0)) == "/world_size");
  CHECK(refused_at(ranks(-1)) == "/world_size");
  CHECK(refused_at(ranks(std::numeric_limits<std::int64_t>::min(), -1)) == "/world_size");
  CHECK(refused_at(ranks((1 << 20) + 1)) == "/world_size");
  CHECK(refused_at(ranks(1 << 20)) == "accepted");
}

TEST_CASE("topology: refuses hosts of less than one rank or over twice the ranks") {
  CHECK(refused_at(ranks(4, 9)) == "/local_world_size");
  CHECK(refused_at(ranks(4, -1)) == "/local_world_size");
  CHECK(refused_at(ranks(4, 1)) == "accepted");
}

TEST_CASE("topology: refuses sizes that are negative or not exact as doubles") {
  const std::int64_t most = std::int64_t{1} << 53;
  CHECK(refused_with([](TopologySpec& spec) { spec.hbm_cap_bytes = -1; }) == "/hbm_cap");
  CHECK(refused_with([](TopologySpec& spec) { spec.ddr_cap_bytes = -1; }) == "/ddr_cap");
  CHECK(refused_with([&](TopologySpec& spec) { spec.hbm_cap_bytes = most + 1; }) == "/hbm_cap");
  CHECK(refused_with([&](TopologySpec& spec) { spec.ddr_cap_bytes = most + 1; }) == "/ddr_cap");
  CHECK(refused_with([&](TopologySpec& spec) { spec.hbm_cap_bytes = most; }) == "accepted");
}

TEST_CASE("topology: refuses memory whose sum over the ranks overflows") {
  TopologySpec spec = ranks(1 << 20);
  spec.hbm_cap_bytes = std::int64_t{1} << 42;
  CHECK(refused_at(spec) == "accepted");
  CHECK(Topology::make(spec).value().total_storage().hbm == Bytes(std::int64_t{1} << 62));
  ++*spec.hbm_cap_bytes;
  CHECK(refused_at(spec) == "/hbm_cap");
}

TEST_CASE("topology: refuses custom sizes of the wrong number, sign or sum") {
  CHECK(refused_with([](TopologySpec& spec) {
          spec.custom_hbm_cap_bytes = {1, 2, 3};
        }) == "/custom/hbm_cap");
  CHECK(refused_with([](TopologySpec& spec) {
          spec.custom_ddr_cap_bytes = {1, 2, 3, 4, 5};
        }) == "/custom/ddr_cap");
  CHECK(refused_with([](TopologySpec& spec) {
          spec.custom_hbm_cap_bytes = {1, 2, -3, 4};
        }) == "/custom/hbm_cap/2");
  CHECK(refused_with([](TopologySpec& spec) {
          spec.custom_ddr_cap_bytes = {1, 2, 3, -4};
        }) == "/custom/ddr_cap/3");
  CHECK(refused_with([](TopologySpec& spec) { spec.ssd_cap_bytes = -1; }) == "/ssd_cap");
  CHECK(refused_with([](TopologySpec& spec) {
          spec.custom_ssd_cap_bytes = {1, -2, 3, 4};
        }) == "/custom/ssd_cap/1");
  CHECK(refused_with([](TopologySpec& spec) {
          spec.custom_ssd_cap_bytes = {0, 0, 0, 0};
        }) == "accepted");
  CHECK(refused_with([](TopologySpec& spec) {
          spec.custom_hbm_cap_bytes = {0, 0, 0, 0};
        }) == "/custom/hbm_cap");
  CHECK(refused_with([](TopologySpec& spec) {
          spec.compute_device = ComputeDevice::kCpu;
          spec.custom_ddr_cap_bytes = {0, 0, 0, 0};
        }) == "/custom/ddr_cap");
}

TEST_CASE("topology: a memory that does not decide how rows are split may be zero on all ranks") {
  TopologySpec spec;
  spec.world_size = spec.local_world_size = 2;
  spec.custom_ddr_cap_bytes = {0, 0};
  CHECK(Topology::make(spec).ok());
}

TEST_CASE("topology: refuses bandwidths that are not finite and above zero") {
  struct Case {
    double TopologySpec::*bandwidth;
    const char* where;
  };
  for (const Case& c : {Case{&TopologySpec::intra_host_bw, "/intra_host_bw"},
                        Case{&TopologySpec::inter_host_bw, "/inter_host_bw"},
                        Case{&TopologySpec::hbm_mem_bw, "/hbm_mem_bw"},
                        Case{&TopologySpec::ddr_mem_bw, "/ddr_mem_bw"},
                        Case{&TopologySpec::hbm_to_ddr_mem_bw, "/hbm_to_ddr_mem_bw"},
                        Case{&TopologySpec::ssd_mem_bw, "/ssd_mem_bw"}}) {
    for (const double value : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
      CAPTURE(value);
      CHECK(refused_with([&](TopologySpec& spec) { spec.*c.bandwidth = value; }) == c.where);
    }
  }
}

TEST_CASE("topology: refuses multipliers that are negative or not finite, but not zero") {
  struct Case {
    double TopologySpec::*multiplier;
    const char* where;
  };
  for (const Case& c :
       {Case{&TopologySpec::bwd_compute_multiplier, "/bwd_compute_multiplier"},
        Case{&TopologySpec::weighted_feature_bwd_compute_multiplier,
             "/weighted_feature_bwd_compute_multiplier"},
        Case{&TopologySpec::uneven_sharding_perf_multiplier, "/uneven_sharding_perf_multiplier"}}) {
    for (const double value : {-0.5, std::nan(""), HUGE_VAL}) {
      CAPTURE(value);
      CHECK(refused_with([&](TopologySpec& spec) { spec.*c.multiplier = value; }) == c.where);
    }
    CHECK(refused_with([&](TopologySpec& spec) { spec.*c.multiplier = 0; }) == "accepted");
  }
}

TEST_CASE("topology: sharding groups have equally many ranks on every host they reach") {
  // Returns the ranks per host of a group of `size` ranks. `far` puts replicas on distant ranks.
  const auto local = [](std::int64_t size, bool far) {
    TopologySpec spec = ranks(32, 8);
    spec.groups.emplace().sizes = {size};
    spec.groups->use_inter_host_allreduce = far;
    const Topology topology = Topology::make(std::move(spec)).value();
    CHECK(topology.world_size() == size);
    CHECK(topology.num_replicas() == 32 / size);
    CHECK(topology.layouts().empty());
    return topology.local_world_size();
  };
  CHECK(local(32, false) == 8);
  CHECK(local(16, false) == 4);
  CHECK(local(4, false) == 1);
  CHECK(local(2, false) == 1);
  CHECK(local(16, true) == 8);
  CHECK(local(4, true) == 4);
  CHECK(local(1, true) == 1);
}

TEST_CASE("topology: the size of sharding groups may be left open") {
  const auto sizes = [](const Topology& topology) {
    std::vector<std::int64_t> all;
    for (const MachineLayout& layout : topology.layouts())
      all.push_back(layout.group_size);
    return all;
  };
  TopologySpec spec = ranks(24, 8);
  spec.groups.emplace();
  const Topology all = Topology::make(spec).value();
  CHECK(sizes(all) == std::vector<std::int64_t>{1, 3, 6, 12, 24});
  CHECK(all.world_size() == 24);
  spec.groups->use_inter_host_allreduce = true;
  CHECK(sizes(Topology::make(spec).value()) == std::vector<std::int64_t>{1, 2, 4, 8, 24});
  spec.groups->sizes = {4, 8};
  CHECK(sizes(Topology::make(spec).value()) == std::vector<std::int64_t>{4, 8});
  CHECK(Topology::make(with_layout(spec, {8, 1})).value().world_size() == 8);
  CHECK(Topology::make(ranks(8)).value().layouts().empty());
}

TEST_CASE("topology: a pod counts as one host") {
  TopologySpec spec = ranks(32, 4);
  spec.pod_sizes = {2};
  const Topology pods = Topology::make(spec).value();
  CHECK(pods.local_world_size() == 8);
  CHECK(pods.num_hosts() == 4);
  CHECK(pods.pod_size() == 2);
  CHECK(pods.layouts().empty());
  spec.pod_sizes = {1, 4};
  CHECK(Topology::make(spec).value().layouts() == std::vector<MachineLayout>{{32, 1}, {32, 4}});
  spec.groups.emplace().sizes = {2, 16};
  CHECK(Topology::make(spec).value().layouts() ==
        std::vector<MachineLayout>{{2, 1}, {2, 4}, {16, 1}, {16, 4}});
  CHECK(Topology::make(with_layout(spec, {16, 4})).value().local_world_size() == 8);
  CHECK(Topology::make(with_layout(spec, {16, 1})).value().local_world_size() == 2);
  spec.pod_sizes = {3};
  CHECK(refused_at(spec) == "/pod_size/0");
  spec.pod_sizes = {2, 1};
  CHECK(refused_at(spec) == "/pod_size/1");
  spec.groups.reset();
  spec.pod_sizes = {0};
  CHECK(refused_at(spec) == "/pod_size");
  spec.pod_sizes = {33};
  CHECK(refused_at(spec) == "/pod_size");
}

TEST_CASE("topology: hosts and pods tile the sharding groups of every layout") {
  TopologySpec spec = ranks(96, 4);
  spec.groups.emplace();
  spec.pod_sizes = {1, 2, 3, 8};
  for (const bool near : {false, true}) {
    spec.groups->use_inter_host_allreduce = near;
    const std::vector<MachineLayout> layouts = Topology::make(spec).value().layouts();
    CHECK(layouts.size() > 20);
    for (const MachineLayout& layout : layouts) {
      const Topology group = Topology::make(with_layout(spec, layout)).value();
      CHECK_FALSE(group.has_uneven_hosts());
      CHECK(group.num_hosts() > 0);
    }
  }
}

TEST_CASE("topology: ranks that do not fill a host are on none") {
  const Topology one = Topology::make(ranks(12, 8)).value();
  CHECK(one.world_size() == 12);
  CHECK(one.local_world_size() == 8);
  CHECK(one.num_hosts() == 1);
  CHECK(one.num_hosted_ranks() == 8);
  CHECK(one.has_uneven_hosts());
  CHECK_FALSE(one.is_one_host());

  const Topology none = Topology::make(ranks(4, 8)).value();
  CHECK(none.num_hosts() == 0);
  CHECK(none.has_uneven_hosts());
  CHECK(refused_at(ranks(3, 8)) == "/local_world_size");

  TopologySpec pods = ranks(16, 4);
  pods.pod_sizes = {3};
  CHECK(Topology::make(pods).value().num_hosted_ranks() == 12);
  pods.pod_sizes = {1, 2};
  pods.world_size = 14;
  CHECK(refused_at(pods) == "/local_world_size");
  TopologySpec groups = ranks(12, 8);
  groups.groups.emplace().sizes = {6};
  CHECK(refused_at(groups) == "/local_world_size");
}

TEST_CASE("topology: averaging replicas takes the link that they share") {
  TopologySpec spec = ranks(32, 8);
  spec.intra_host_bw = 100;
  spec.inter_host_bw = 10;
  spec.groups.emplace().sync_interval = 5;
  const auto cost = [&](std::int64_t size, double memory) {
    return Topology::make(with_layout(spec, {size, 1})).value().sync_ms_per_byte(memory, 8);
  };
  CHECK(cost(32, 1000) == 0);
  CHECK(cost(16, 1000) == doctest::Approx(2.0 * 1 / 2 / 100 / 5));
  CHECK(cost(4, 1000) == doctest::Approx(2.0 * 7 / 8 / 100 / 5));
  CHECK(cost(2, 1000) == doctest::Approx(2.0 * 15 / 16 / 10 / 5));
  CHECK(cost(16, 20) == doctest::Approx(2.0 * 1 / 2 / 20 / 5));
  spec.groups->use_inter_host_allreduce = true;
  CHECK(cost(16, 1000) == doctest::Approx(2.0 * 1 / 2 / 10 / 5));
}

TEST_CASE("topology: sharding groups that cannot be are refused") {
  const auto refused = [](const auto& change) {
    return refused_with([&](TopologySpec& spec) { change(spec, spec.groups.emplace()); });
  };
  CHECK(refused([](auto&, auto& groups) { groups.sizes = {3}; }) == "/sharding_groups/size/0");
  CHECK(refused([](auto&, auto& groups) { groups.sizes = {0}; }) == "/sharding_groups/size/0");
  CHECK(refused([](auto&, auto& groups) { groups.sizes = {2, 2}; }) == "/sharding_groups/size/1");
  CHECK(refused([](auto&, auto& groups) { groups.sync_interval = 0; }) ==
        "/sharding_groups/sync_interval");
  CHECK(refused([](auto& spec, auto&) { spec.compute_device = ComputeDevice::kCpu; }) ==
        "/sharding_groups");
  CHECK(refused([](auto& spec, auto&) {
          spec.custom_hbm_cap_bytes = {1, 2, 3, 4};
        }) == "/sharding_groups/size");
  // If `sizes` has one element, the list needs one entry for every rank of a group.
  CHECK(refused([](auto& spec, auto& groups) {
          groups.sizes = {2};
          spec.custom_hbm_cap_bytes = {1, 2, 3, 4};
        }) == "/custom/hbm_cap");
  CHECK(refused([](auto& spec, auto& groups) {
          groups.sizes = {2};
          spec.custom_hbm_cap_bytes = {1, 2};
        }) == "accepted");
}

}  // namespace shardwright::topology_test
