// The rules in which the releases of TorchRec differ.
#include "core/embedding/problem/release_rules.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

namespace shardwright::release_rules_test {
namespace {

using namespace shardwright::embedding;
using enum ShardingType;
using enum ComputeKernel;

const ReleaseRules& kOld = rules_of(TorchRecRelease::kA48cef79);
const ReleaseRules& kNew = rules_of(TorchRecRelease::k1_9_2);

template <class List>
std::vector<typename List::value_type> values(const List& list) {
  return {list.begin(), list.end()};
}

using Types = std::vector<ShardingType>;
using Kernels = std::vector<ComputeKernel>;

}  // namespace

TEST_CASE("releases: rules of a release are one object") {
  CHECK(&rules_of(TorchRecRelease::k1_9_2) == &kNew);
  CHECK(&kOld != &kNew);
}

TEST_CASE("releases: feature processors offer rows from 1.9.2 on, guarded") {
  const auto fp = SharderKind::kFeatureProcessed;
  CHECK(values(kOld.sharding_types(fp, ComputeDevice::kCuda)) ==
        Types{kDataParallel, kTableWise, kColumnWise, kTableColumnWise});
  CHECK(values(kNew.sharding_types(fp, ComputeDevice::kCuda)) ==
        Types{kDataParallel, kTableWise, kColumnWise, kTableColumnWise, kTableRowWise, kRowWise,
              kGridShard});
  CHECK(values(kNew.sharding_types(fp, ComputeDevice::kMtia)) == Types{kTableWise, kColumnWise});
  for (const ShardingType type : {kRowWise, kTableRowWise, kGridShard}) {
    CHECK(kNew.guards_type(fp, type));
    CHECK(kNew.guards_type(SharderKind::kEmbeddingBag, type) == (type == kGridShard));
    CHECK(kOld.guards_type(SharderKind::kEmbeddingBag, type) == (type == kGridShard));
  }
}

TEST_CASE("releases: towers offer two types on any device, those that a host can hold") {
  for (const ReleaseRules* release : {&kOld, &kNew}) {
    for (const auto device : {ComputeDevice::kCuda, ComputeDevice::kCpu, ComputeDevice::kMtia})
      CHECK(values(release->sharding_types(SharderKind::kTower, device)) ==
            Types{kTableRowWise, kTableColumnWise});
  }
}

TEST_CASE("releases: 1.9.2 adds a virtual table of two tiers, and tpu") {
  const auto bag = SharderKind::kEmbeddingBag;
  const Kernels old = values(kOld.compute_kernels(bag, kTableWise, ComputeDevice::kCuda));
  CHECK(old == Kernels{kFused, kFusedUvm, kFusedUvmCaching, kKeyValue, kSsdVirtualTable,
                       kDramVirtualTable});
  Kernels more = old;
  more.push_back(kDramSsdVirtualTable);
  CHECK(values(kNew.compute_kernels(bag, kTableWise, ComputeDevice::kCuda)) == more);
  CHECK(values(kNew.compute_kernels(bag, kDataParallel, ComputeDevice::kCuda)) == Kernels{kDense});
  CHECK(values(kNew.compute_kernels(bag, kRowWise, ComputeDevice::kTpu)) ==
        Kernels{kFused, kUnfusedTpu});
  CHECK(kNew.guards_kernel(kDramSsdVirtualTable));
  CHECK_FALSE(kNew.guards_kernel(kFusedTriton));
  CHECK(kNew.has_tpu);
  CHECK_FALSE(kOld.has_tpu);
}

}  // namespace shardwright::release_rules_test
