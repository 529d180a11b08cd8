// Which divisions of a proof's tree the check accepts, and which it refuses.
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

namespace {

// Two ranks. The first table takes 9 ms on one of them; three others take 4 ms on one, or these on
// both. Below 11 ms nothing else fits beside the first table, and the others need 12 ms.
Proof pinned(double first_ms, double second_ms) {
  SpaceBuilder builder(spec(4, 2, 2));
  builder.add(0, kTableWise, 1, 9, 10);
  for (std::size_t table = 1; table < 4; ++table) {
    builder.add(table, kTableWise, 1, 4, 10);
    builder.add_runs(table, kRowWise, {{1, first_ms, 5}, {1, second_ms, 5}});
  }
  BoundNode pin;
  pin.is_leaf = false;
  pin.pinned = {TableId(0)};
  Proof proof{builder.take(), {11 * kLess, {0, 1}, {pin, leaf({{0, 0, 0}, {1, 0, 0}})}}};
  proof.certificate.ranks_are_alike = true;
  return proof;
}

}  // namespace

TEST_CASE("check bound: where ranks are alike, a large shard has a rank of its own") {
  const Proof proof = pinned(2, 2);
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 11 * (1 + 1e-6); }) != "");
  CHECK(proof.after([](auto& c) { c.nodes.erase(c.nodes.begin()); }) != "");
  CHECK(proof.after([](auto& c) { c.ranks_are_alike = false; }) ==
        "a node pins tables although ranks differ");
  CHECK(proof.after([](auto& c) { c.nodes[0].is_leaf = true; }) == "a leaf pins tables");
  const auto after_pins = [&](std::vector<TableId> tables) {
    return proof.after([&](auto& c) { c.nodes[0].pinned = std::move(tables); });
  };
  CHECK(after_pins({TableId(7)}) == "a node pins a table that has no option");
  constexpr std::string_view kElsewhere =
      "a node pins a table that need not have its shards on all ranks of the class";
  CHECK(after_pins({TableId(1)}) == kElsewhere);
  CHECK(after_pins({TableId(0), TableId(0)}) == kElsewhere);
  CHECK(proof.after([](auto& c) { c.class_of_rank = {0, 0}; }) != "");
  CHECK(proof.after([](auto& c) {
    const BoundNode pin = c.nodes[0];
    c.nodes = {branch(1, {{OptionId(1), 3}}), pin, c.nodes[1], c.nodes[1]};
  }) == "a node pins tables below a division");
}

TEST_CASE("check bound: ranks that are exchanged have the smallest shard of an option on all") {
  // The smaller shard may lie beside the first table.
  CHECK(pinned(2, 1.5).wrong().value_or("") != "");
  CHECK(pinned(1.5, 2).wrong().value_or("") != "");
  CHECK(pinned(2.5, 2).wrong().value_or("") == "");
}

TEST_CASE("check bound: shards that fit on one rank have no ranks of their own") {
  SpaceBuilder builder(spec(2, 4, 4));
  builder.add(0, kColumnWise, 2, 4, 10).add(1, kColumnWise, 2, 7, 10);
  BoundNode pin;
  pin.is_leaf = false;
  pin.pinned = {TableId(0)};
  Proof proof{builder.take(), {10, {0, 0, 1, 1}, {pin, leaf({{1, 0, 0}, {1, 0, 0}})}}};
  proof.certificate.ranks_are_alike = true;
  CHECK(proof.wrong().value_or("") == "a node pins shards that fit on one rank");
  // Neither two shards of the second table nor one of each do.
  CHECK(proof.after([](auto& c) {
    c.nodes[0].pinned = {TableId(1), TableId(0)};
  }) == "a node pins shards that fit on one rank");
  CHECK(proof.after([](auto& c) { c.nodes[0].pinned = {TableId(1)}; }) ==
        "the multipliers of a leaf do not exclude a plan below the bound");
}

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
  // A branch that keeps nothing in its first child proves no more than its second child.
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
  // The second child of a branch on two tables of three leaves more open.
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
  // Another load, other memory, another way to cut, one option less.
  check(two().add(2, kTableWise, 1, 2.1, 10).add(2, kRowWise, 2, 1.5, 5));
  check(two().add(2, kTableWise, 1, 2, 10).add(2, kRowWise, 2, 1.5, 6));
  check(two().add(2, kTableWise, 1, 2, 10).add(2, kColumnWise, 2, 1.5, 5));
  check(two().add(2, kTableWise, 1, 2, 10));
  // After a branch on the first table alone it differs from the others.
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
