// Which branches of a proof's tree the check accepts, and which it refuses.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "tests/core/embedding/bound/proofs.h"

namespace shardwright::check_branch_test {

using namespace shardwright::bound_proofs;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

TEST_CASE("check bound: a malformed tree is refused") {
  const Proof proof = branch_by_options();
  CHECK(proof.after([](auto& c) { c.nodes.clear(); }) == "the tree lacks a node");
  CHECK(proof.after([](auto& c) { c.nodes.pop_back(); }) == "the tree lacks a node");
  CHECK(proof.after([](auto& c) { c.nodes.push_back(c.nodes.back()); }) ==
        "the tree has nodes that belong to no parent");
  CHECK(proof.after([](auto& c) { c.nodes[0].tables[0] = TableId(3); }) ==
        "a node branches on a table that does not exist");
  CHECK(proof.after([](auto& c) {
    c.nodes.assign(50'000, branch(0, {{OptionId(0), 1}}));
  }) == "the tree is too deep");
  // If the first child is empty, the second has all plans, and its leaf proves the bound alone.
  CHECK(proof.after([](auto& c) { c.nodes[0].first_child.clear(); }) == "");
}

TEST_CASE("check bound: a branch on a number of tables covers all plans") {
  const Proof proof = branch_by_count();
  const std::string_view wrong_number =
      "a node branches on a number of tables that it does not have";
  CHECK(proof.after([](auto& c) { c.nodes[0].count = 0; }) == wrong_number);
  CHECK(proof.after([](auto& c) { c.nodes[0].count = 4; }) == wrong_number);
  CHECK(proof.after([](auto& c) { c.nodes[0].tables.clear(); }) == wrong_number);
  CHECK(proof.after([](auto& c) { c.nodes[0].tables[2] = TableId(3); }) ==
        "a node branches on a table that does not exist");
  CHECK(proof.after([](auto& c) { c.nodes[0].tables[1] = TableId(0); }) ==
        "a node branches on tables that are not in order");
  // After a branch on two of three tables, the second child has plans that its leaf does not
  // exclude.
  CHECK(proof.after([](auto& c) { c.nodes[0].count = 2; }) ==
        "the dual values of a leaf do not exclude a plan below the bound");
  CHECK(proof.after([](auto& c) { c.nodes[0].tables.pop_back(); }) != "");
}

TEST_CASE("check bound: a branch on a number of tables takes equal tables only") {
  constexpr std::string_view kNotEqual = "a node branches on tables that are not equal";
  Proof other = branch_by_count();
  const auto check = [&](SpaceBuilder builder) {
    other.space = builder.take();
    CHECK(other.wrong().value_or("") == kNotEqual);
  };
  const auto two = [] {
    SpaceBuilder builder(spec(3, 2, 2));
    for (std::size_t table = 0; table < 2; ++table)
      builder.add(table, kTableWise, 1, 2, 10).add(table, kRowWise, 2, 1.5, 5);
    return builder;
  };
  // The third table has another load, other memory, another sharding type, or one option less.
  check(two().add(2, kTableWise, 1, 2.1, 10).add(2, kRowWise, 2, 1.5, 5));
  check(two().add(2, kTableWise, 1, 2, 10).add(2, kRowWise, 2, 1.5, 6));
  check(two().add(2, kTableWise, 1, 2, 10).add(2, kColumnWise, 2, 1.5, 5));
  check(two().add(2, kTableWise, 1, 2, 10));
  // After a branch on the first table alone, this table differs from the others.
  const Proof nested = branch_by_count_of_two();
  CHECK(nested.after([](auto& c) { c.nodes[2].tables = {TableId(0), TableId(1)}; }) == kNotEqual);
}

TEST_CASE(
    "check bound: a branch may divide the ranks of an option only if its shards stay on one side") {
  Proof proof = branch_by_places();
  const auto divided = [&](std::size_t table, std::uint32_t option) {
    return proof.after([&](auto& c) { c.nodes[0] = branch(table, {{OptionId(option), 1}}); });
  };
  CHECK(divided(1, 2) == "a node divides the domain of an option that may lie on both sides");
  CHECK(divided(1, 1) != "a node divides the domain of an option that may lie on both sides");
}

}  // namespace shardwright::check_branch_test
