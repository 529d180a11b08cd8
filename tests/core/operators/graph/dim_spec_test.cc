// Dimension specs: their text, the difference of two specs, and the sequence in packed form.
#include "core/operators/graph/sharding_spec.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace shardwright::dim_spec_test {

namespace {

using namespace shardwright::operators;

// Computes the difference by its definition: drop axes down to the common prefix, then append.
int slow_difference(DimSpec from, DimSpec to) {
  std::vector<int> a;
  std::vector<int> b;
  for (int axis = 0; axis < 8; ++axis) {
    if (from.has(axis)) a.push_back(axis);
    if (to.has(axis)) b.push_back(axis);
  }
  std::size_t common = 0;
  while (common < a.size() && common < b.size() && a[common] == b[common])
    ++common;
  int cost = 0;
  int steps = 0;
  for (; a.size() > common; a.pop_back(), ++steps)
    cost += 20;
  for (; a.size() < b.size(); a.push_back(b[a.size()]), ++steps)
    cost += 5;
  return steps == 0 ? 0 : cost + 6 * (steps - 1);
}

std::string round_trip(const std::string& text) {
  const auto specs = DimSpecs::parse(text);
  return specs.ok() ? specs->to_string() : "refused";
}

}  // namespace

TEST_CASE("dim spec: axes are named in ascending order") {
  CHECK(DimSpec{}.to_string() == "R");
  CHECK(DimSpec{0b1}.to_string() == "S0");
  CHECK(DimSpec{0b10}.with(0).to_string() == "S01");
  CHECK(DimSpec{0b10000101}.to_string() == "S027");
  CHECK(DimSpec{0b10000101}.without(7).last_axis() == 2);
  CHECK(DimSpec{}.last_axis() == -1);
}

TEST_CASE("dim spec: the difference counts dropped and appended axes, for all pairs") {
  int different = 0;
  for (int from = 0; from < 256; ++from) {
    for (int to = 0; to < 256; ++to) {
      const DimSpec a{static_cast<std::uint8_t>(from)};
      const DimSpec b{static_cast<std::uint8_t>(to)};
      if (dim_difference(a, b) != slow_difference(a, b)) ++different;
    }
  }
  CHECK(different == 0);
}

TEST_CASE("dim specs: the difference of a sequence sums over dimensions") {
  CHECK(difference(*DimSpecs::parse("S01,R,R"), *DimSpecs::parse("S0,S1,R")) == 25);
  CHECK(difference(DimSpecs(3), DimSpecs(3)) == 0);
}

TEST_CASE("dim specs: text is parsed; brackets and spaces are ignored") {
  CHECK(round_trip("S0,R,S1") == "S0,R,S1");
  CHECK(round_trip("[S01, R]") == "S01,R");
  CHECK(round_trip("") == "");
  CHECK(round_trip("R,R,R,R,R,R,R,S01234567") == "R,R,R,R,R,R,R,S01234567");
  CHECK(DimSpecs::parse("R,R")->rank() == 2);
  CHECK(DimSpecs::parse("[]")->rank() == 0);
}

TEST_CASE("dim specs: other text is refused") {
  for (const char* text : {"S", "S10", "S00", "S8", "Sa", "s0", "r", "R,", ",R", "R,,R", "R;R", "0",
                           "R0", "S-1", "R,R,R,R,R,R,R,R,R"}) {
    INFO(text);
    CHECK(round_trip(text) == "refused");
  }
}

TEST_CASE("dim specs: a change touches one dimension") {
  const DimSpecs specs = *DimSpecs::parse("S0,R,S12");
  CHECK(specs.with(1, DimSpec{0b1000}).to_string() == "S0,S3,S12");
  CHECK(specs.with(2, DimSpec{}).to_string() == "S0,R,R");
  CHECK(specs.to_string() == "S0,R,S12");
  CHECK(specs.used_axes() == 0b111);
  CHECK(DimSpecs(2) != DimSpecs(3));
}

TEST_CASE("dim specs: an axis that is used in two dimensions is found") {
  CHECK(DimSpecs::parse("S0,R,S12")->disjoint());
  CHECK_FALSE(DimSpecs::parse("S0,S02")->disjoint());
  CHECK_FALSE(DimSpecs::parse("R,S7,R,R,R,R,R,S7")->disjoint());
  CHECK(DimSpecs().disjoint());
}

}  // namespace shardwright::dim_spec_test
