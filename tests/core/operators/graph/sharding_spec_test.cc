// Interned sharding specs: validity, identity, elements per device.
#include "core/operators/graph/sharding_spec.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

namespace shardwright::sharding_spec_test {

namespace {

using namespace shardwright::operators;

std::shared_ptr<const DeviceMesh> mesh(std::vector<std::uint32_t> shape) {
  return DeviceMesh::make({std::move(shape), {}, {}, {}}).value();
}

DimSpecs specs(const std::string& text) { return DimSpecs::parse(text).value(); }

}  // namespace

TEST_CASE("spec table: equal shapes and specs are one object") {
  SpecTable table(mesh({2, 2}));
  const std::vector<std::int64_t> extents{8, 4};
  const TensorShape* shape = table.shape(extents);
  CHECK(table.shape(std::vector<std::int64_t>{8, 4}) == shape);
  CHECK(table.shape(std::vector<std::int64_t>{4, 8}) != shape);
  const ShardingSpec* spec = table.intern(shape, specs("S0,S1"));
  CHECK(table.find_or_add(shape, specs("S0,S1")) == spec);
  CHECK(table.intern(shape, specs("S1,S0")) != spec);
  CHECK(table.num_shapes() == 2);
  CHECK(table.num_specs() == 2);
}

TEST_CASE("spec table: elements per device follow from the shares of all dimensions") {
  SpecTable table(mesh({2, 4}));
  const TensorShape* shape = table.shape(std::vector<std::int64_t>{16, 12});
  CHECK(table.intern(shape, specs("R,R"))->local_elements == 192);
  CHECK(table.intern(shape, specs("S0,S1"))->local_elements == 24);
  CHECK(table.intern(shape, specs("S01,R"))->local_elements == 24);
  CHECK(table.intern(shape, specs("R,S1"))->local_elements == 48);
  const TensorShape* scalar = table.shape({});
  CHECK(table.intern(scalar, specs(""))->local_elements == 1);
}

TEST_CASE("spec table: invalid specs are not added") {
  SpecTable table(mesh({2, 4}));
  const TensorShape* shape = table.shape(std::vector<std::int64_t>{6, 8});
  for (const char* text : {"S1,R", "S01,R", "S0,S0", "S2,R", "R", "R,R,R", "R,S12", ""}) {
    INFO(text);
    CHECK(table.find_or_add(shape, specs(text)) == nullptr);
  }
  CHECK(table.num_specs() == 0);
  CHECK(table.find_or_add(shape, specs("S0,S1")) != nullptr);
  CHECK(table.find_or_add(shape, specs("R,S01")) != nullptr);
}

TEST_CASE("spec table: threads that ask for equal specs get the same objects") {
  SpecTable table(mesh({2, 2}));
  constexpr std::size_t kThreads = 4;
  std::vector<std::vector<const ShardingSpec*>> found(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&table, &mine = found[t]] {
        for (std::int64_t extent = 4; extent < 400; extent += 4) {
          const TensorShape* shape = table.shape(std::vector<std::int64_t>{extent, 8});
          mine.push_back(table.intern(shape, specs("S0,S1")));
        }
      });
    }
  }
  for (const auto& mine : found)
    CHECK(mine == found[0]);
  CHECK(table.num_shapes() == 99);
  CHECK(table.num_specs() == 99);
}

}  // namespace shardwright::sharding_spec_test
