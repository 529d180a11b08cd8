// Redistributions of one tensor: refusals, and the rules of the cost models with made-up prices.
#include "core/redistribution/cost/tensor_redistribution.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace shardwright::redistribution_test {

namespace {

using namespace shardwright::redistribution;

const AxisPlacement kWhole = AxisPlacement::replicate();
const AxisPlacement kRows = AxisPlacement::shard(0);
const AxisPlacement kColumns = AxisPlacement::shard(1);
const AxisPlacement kSum = AxisPlacement::partial(ReduceOp::kSum);
const AxisPlacement kMax = AxisPlacement::partial(ReduceOp::kMax);

// Charges the bytes plus a price that differs by collective and axis, so that a sum shows which
// collectives were asked for.
class TellingCosts final : public CollectiveCosts {
 public:
  explicit TellingCosts(MeshShape mesh) : CollectiveCosts(std::move(mesh)) {}
  double microseconds(Collective collective, std::size_t axis, double bytes) const override {
    return price(collective, axis) + bytes;
  }
  static double price(Collective collective, std::size_t axis) {
    return 1e8 * (1 + static_cast<double>(collective)) * (axis == 0 ? 1 : 100);
  }
};

constexpr Collective kGather = Collective::kAllGather;
constexpr Collective kScatter = Collective::kReduceScatter;
constexpr Collective kReduce = Collective::kAllReduce;
constexpr Collective kExchange = Collective::kAllToAll;
// The tensor has 2^20 bytes. A copy takes at least 7 us.
constexpr double kBytes = 1 << 20;
constexpr double kCopy = 7;
constexpr double kMemory = 1e15;

RedistributionSpec spec_of(std::vector<AxisPlacement> source, std::vector<AxisPlacement> target,
                           std::vector<std::int64_t> strides = {}) {
  MeshShape mesh(source.size(), 4);
  return {std::move(mesh), {512, 512}, std::move(strides), 4, std::move(source), std::move(target)};
}

double autoparallel(RedistributionSpec spec) {
  const Redistribution asked = Redistribution::make(std::move(spec)).value();
  return autoparallel_redistribution_us(asked, TellingCosts(asked.mesh()), kMemory);
}

double dtensor(RedistributionSpec spec) {
  const Redistribution asked = Redistribution::make(std::move(spec)).value();
  return dtensor_redistribution_us(asked, TellingCosts(asked.mesh()));
}

double price(Collective collective, std::size_t axis, double bytes) {
  return TellingCosts::price(collective, axis) + bytes;
}

std::string refused_at(RedistributionSpec spec) {
  const auto made = Redistribution::make(std::move(spec));
  return made.ok() ? "accepted" : made.error().where;
}

}  // namespace

TEST_CASE("redistribution: what is refused") {
  const RedistributionSpec good = spec_of({kRows, kSum}, {kWhole, kColumns});
  CHECK(refused_at(good) == "accepted");
  RedistributionSpec bad = good;
  bad.mesh = {4, 0};
  CHECK(refused_at(bad) == "/mesh/1");
  bad = good;
  bad.itemsize = 0;
  CHECK(refused_at(bad) == "/itemsize");
  bad = good;
  bad.shape[1] = -1;
  CHECK(refused_at(bad) == "/shape/1");
  bad = good;
  bad.shape = {std::int64_t{1} << 40, std::int64_t{1} << 20};
  CHECK(refused_at(bad) == "/shape");
  bad = good;
  bad.strides = {1};
  CHECK(refused_at(bad) == "/strides");
  bad = good;
  bad.source.pop_back();
  CHECK(refused_at(bad) == "/source");
  bad = good;
  bad.target[1] = AxisPlacement::shard(2);
  CHECK(refused_at(bad) == "/target/1");
}

TEST_CASE("redistribution: members that a kind does not use make no difference") {
  RedistributionSpec spec = spec_of({kWhole}, {kWhole});
  spec.source[0].dim = 7;
  spec.target[0].reduce_op = ReduceOp::kMax;
  const Redistribution made = Redistribution::make(spec).value();
  CHECK(made.source() == made.target());
}

TEST_CASE("redistribution: contiguous strides, where one element and none count for nothing") {
  const auto is_contiguous = [](std::vector<std::int64_t> shape,
                                std::vector<std::int64_t> strides) {
    return Redistribution::make({{2}, std::move(shape), std::move(strides), 1, {kWhole}, {kWhole}})
        .value()
        .is_contiguous();
  };
  CHECK(is_contiguous({4, 6}, {}));
  CHECK(is_contiguous({4, 6}, {6, 1}));
  CHECK_FALSE(is_contiguous({4, 6}, {1, 4}));
  CHECK_FALSE(is_contiguous({4, 6}, {8, 1}));
  CHECK(is_contiguous({1, 6}, {99, 1}));
  CHECK(is_contiguous({3, 0}, {0, 1}));
  CHECK(is_contiguous({3, 0}, {1, 1}));
}

TEST_CASE("AutoParallel's redistribution: each change of one axis") {
  CHECK(autoparallel(spec_of({kWhole}, {kColumns})) == 0);
  CHECK(autoparallel(spec_of({kRows}, {kRows})) == 0);
  CHECK(autoparallel(spec_of({kRows}, {kWhole})) == price(kGather, 0, kBytes));
  CHECK(autoparallel(spec_of({kColumns}, {kWhole})) == price(kGather, 0, kBytes) + kCopy);
  CHECK(autoparallel(spec_of({kRows}, {kColumns})) == price(kExchange, 0, kBytes / 4) + kCopy);
  CHECK(autoparallel(spec_of({kSum}, {kWhole})) == price(kReduce, 0, kBytes));
  CHECK(autoparallel(spec_of({kSum}, {kRows})) == price(kScatter, 0, kBytes));
  CHECK(autoparallel(spec_of({kSum}, {kColumns})) == price(kScatter, 0, kBytes) + kCopy);
  CHECK(autoparallel(spec_of({kSum}, {kMax})) == 0);
  CHECK(std::isinf(autoparallel(spec_of({kWhole}, {kSum}))));
  CHECK(std::isinf(autoparallel(spec_of({kRows}, {kSum}))));
}

TEST_CASE("AutoParallel's redistribution: a strided source is copied once, by the first change") {
  const std::vector<std::int64_t> columns = {1, 512};
  CHECK(autoparallel(spec_of({kRows}, {kWhole}, columns)) == price(kGather, 0, kBytes) + kCopy);
  CHECK(autoparallel(spec_of({kRows, kRows}, {kWhole, kWhole}, columns)) ==
        price(kGather, 0, kBytes / 4) + price(kGather, 1, kBytes) + kCopy);
  CHECK(autoparallel(spec_of({kSum}, {kMax}, columns)) == kCopy);
  CHECK(autoparallel(spec_of({kRows}, {kRows}, columns)) == 0);
}

TEST_CASE("AutoParallel's redistribution: a split leaves the bytes, two sums go inside out") {
  CHECK(autoparallel(spec_of({kWhole, kSum}, {kRows, kWhole})) == price(kReduce, 1, kBytes));
  CHECK(autoparallel(spec_of({kSum, kSum}, {kRows, kRows})) ==
        price(kScatter, 1, kBytes) + price(kScatter, 0, kBytes / 4));
  CHECK(autoparallel(spec_of({kMax, kSum}, {kRows, kRows})) ==
        price(kScatter, 0, kBytes) + price(kScatter, 1, kBytes / 4));
}

TEST_CASE("DTensor's redistribution: each change of one axis") {
  CHECK(dtensor(spec_of({kWhole}, {kSum})) == 0);
  CHECK(dtensor(spec_of({kColumns}, {kWhole})) == price(kGather, 0, kBytes));
  CHECK(dtensor(spec_of({kRows}, {kColumns})) == price(kExchange, 0, kBytes / 4));
  CHECK(dtensor(spec_of({kSum}, {kWhole})) == price(kReduce, 0, kBytes));
  CHECK(dtensor(spec_of({kSum}, {kColumns})) == price(kScatter, 0, kBytes));
  CHECK(std::isinf(dtensor(spec_of({kRows}, {kSum}))));
  CHECK(std::isinf(dtensor(spec_of({kSum}, {kMax}))));
}

TEST_CASE("DTensor's redistribution: nested shards are gathered and split again") {
  // Both axes shard rows. The inner one is gathered before the outer one changes, and split again.
  CHECK(dtensor(spec_of({kRows, kRows}, {kWhole, kRows})) ==
        price(kGather, 1, kBytes / 4) + price(kGather, 0, kBytes));
  // The outer axis keeps its shard, so only the inner axis changes.
  CHECK(dtensor(spec_of({kRows, kRows}, {kRows, kColumns})) == price(kExchange, 1, kBytes / 16));
  // A split along the first axis divides the bytes of the collectives along later axes.
  CHECK(dtensor(spec_of({kWhole, kSum}, {kRows, kWhole})) == price(kReduce, 1, kBytes / 4));
}

TEST_CASE("memory bandwidth: devices by name") {
  CHECK(memory_bytes_per_second("NVIDIA H100 80GB HBM3") == 3.35 * 1099511627776.0);
  CHECK(memory_bytes_per_second("NVIDIA GB200") == 7.7 * 1099511627776.0);
  CHECK(memory_bytes_per_second("NVIDIA PG509-210") == memory_bytes_per_second("NVIDIA A100"));
  CHECK(memory_bytes_per_second("Tesla T4") == 300.0 * 1073741824.0);
  CHECK_FALSE(memory_bytes_per_second("NVIDIA H200").has_value());
  CHECK(read_write_us(1, 1e12) == 7);
  CHECK(read_write_us(7e8, 1e12) == 7e8 / 1e12 * 1e6 / 0.70);
}

}  // namespace shardwright::redistribution_test
