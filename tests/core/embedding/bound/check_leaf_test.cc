// Which proofs of a leaf the check accepts, and which it refuses.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "tests/core/embedding/bound/proofs.h"

namespace shardwright::check_leaf_test {

using namespace shardwright::bound_proofs;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

namespace {

// Two ranks of 100 bytes. Each of three tables takes 60 bytes and 1 ms on one rank, or 5 bytes and
// 3 ms on each of both. No rank has room for two shards of 60 bytes, so a table must be on both
// ranks, and the best rating is 4 ms. The root branches on the option of the first table.
Proof searched() {
  SpaceBuilder builder(spec(3, 2, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 1, 60).add(table, kRowWise, 2, 3, 5);
  BoundNode tried = leaf({{0, 0, 0}});
  tried.by_search = true;
  return {builder.take(),
          {4 * kLess, {0, 0}, {branch(0, {{OptionId(1), 1}}), leaf({{1, 0, 0}}), tried}}};
}

}  // namespace

TEST_CASE("check bound: all plans of a leaf by search are tried again, and no others") {
  const Proof proof = searched();
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.nodes = {c.nodes[2]}; }) == "");
  CHECK(proof.after([](auto& c) {
    c.bound = 4 * (1 + 1e-6);
    c.nodes = {c.nodes[2]};
  }) == "there is a plan below the bound in a leaf");
  CHECK(proof.after([](auto& c) { c.nodes[2].by_search = false; }) != "");
  CHECK(proof.after([](auto& c) { c.nodes[2].multipliers.clear(); }) ==
        "a leaf lacks valid multipliers for every rank class");
  const auto check_within = [&](std::uint64_t steps) {
    return check_bound(*proof.space, proof.space->problem().topology(), proof.certificate, steps)
        .value_or("");
  };
  CHECK(check_within(30) == kProofTooLong);
  CHECK(check_within(1000) == "");
}

TEST_CASE("check bound: with placement rules no leaf is proved by search") {
  ProblemSpec with_rule = spec(3, 2, 2);
  with_rule.keep_apart.push_back({{"t0", "t1"}, GroupScope::kRank});
  SpaceBuilder builder(with_rule);
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 1, 60).add(table, kRowWise, 2, 3, 5);
  Proof proof = searched();
  proof.space = builder.take();
  CHECK(proof.wrong().value_or("") ==
        "a leaf is proved by search although there are placement rules");
}

TEST_CASE("check bound: invalid or weaker multipliers are refused") {
  const Proof proof = branch_by_places();
  for (const double price : {-1e-9, kNaN, kInfinity}) {
    CHECK(proof.after([&](auto& c) { c.nodes[1].multipliers[0].load = price; }) ==
          "a leaf lacks valid multipliers for every rank class");
    CHECK(proof.after([&](auto& c) { c.nodes[1].multipliers[1].hbm = price; }) ==
          "a leaf lacks valid multipliers for every rank class");
    CHECK(proof.after([&](auto& c) { c.nodes[1].multipliers[1].ddr = price; }) ==
          "a leaf lacks valid multipliers for every rank class");
  }
  CHECK(proof.after([](auto& c) { c.nodes[1].multipliers.pop_back(); }) != "");
  CHECK(proof.after([](auto& c) { c.nodes[1].multipliers[0].load = 2.1; }) != "");
  CHECK(proof.after([](auto& c) { c.nodes[1].multipliers[1].load = 0.9; }) != "");
  CHECK(lagrangian_proof().after([](auto& c) { c.nodes[0].multipliers[0].load = 0; }) != "");
  CHECK(lagrangian_proof().after([](auto& c) { c.nodes[0].multipliers[0].hbm = 0.01; }) != "");
}

TEST_CASE("check bound: invalid or weaker dual values are refused") {
  const Proof proof = pattern_proof();
  const auto with_dual = [&](double value) {
    return proof.after([&](auto& c) { c.nodes[0].shard_duals[1].value = value; });
  };
  CHECK(with_dual(0) != "");
  CHECK(with_dual(-1) == "the dual value of a shard is negative or not finite");
  CHECK(with_dual(kNaN) == "the dual value of a shard is negative or not finite");
  CHECK(with_dual(kInfinity) == "the dual value of a shard is negative or not finite");
  CHECK(with_dual(1.5) == "a rank can hold a pattern of more value than a leaf claims");
  CHECK(proof.after([](auto& c) { c.nodes[0].shard_duals.pop_back(); }) ==
        "the dual values of a leaf do not exclude a plan below the bound");
  const auto with_max_values = [&](std::vector<double> values) {
    return proof.after([&](auto& c) { c.nodes[0].max_pattern_values = std::move(values); });
  };
  CHECK(with_max_values({1 - 1e-6}) ==
        "a rank can hold a pattern of more value than a leaf claims");
  CHECK(with_max_values({-1}) == "a rank can hold a pattern of more value than a leaf claims");
  CHECK(with_max_values({-kInfinity}) ==
        "a rank can hold a pattern of more value than a leaf claims");
  CHECK(with_max_values({1.5}) ==
        "the dual values of a leaf do not exclude a plan below the bound");
  CHECK(with_max_values({kNaN}) ==
        "the dual values of a leaf do not exclude a plan below the bound");
  CHECK(with_max_values({}) == "a leaf lacks the maximum value of a pattern for a rank class");
  // The multipliers of a pattern leaf only speed up the check, so any values are accepted.
  CHECK(proof.after([](auto& c) { c.nodes[0].multipliers[0] = {7, 3, 1}; }) == "");
}

TEST_CASE("check bound: SSD is a memory with prices of its own") {
  // Five tables take 30 bytes of HBM or 20 bytes of SSD. Each memory has room for two tables.
  ProblemSpec small = spec(5, 2, 2);
  small.topology.hbm_cap_bytes = 30;
  small.topology.ssd_cap_bytes = 20;
  const auto proof_for = [](const ProblemSpec& own, double bound, CapacityMultipliers prices) {
    SpaceBuilder builder(own);
    for (std::size_t table = 0; table < 5; ++table)
      builder.add(table, kTableWise, 1, 1, 30).add(table, kTableWise, 1, 10, 0, 0, 20);
    return Proof{builder.take(), {bound, {0, 0}, {leaf({prices})}}};
  };
  const CapacityMultipliers prices{0, 2, 0, 3};
  const Proof absent = proof_for(small, kInfinity, prices);
  const auto absence = [](const Proof& proof) {
    return check_absence(*proof.space, proof.space->problem().topology(), proof.certificate)
        .value_or("");
  };
  CHECK(absence(absent) == "");
  // A price of 0 lets the relaxation put all tables into that memory, so both prices are needed.
  CHECK(absence(proof_for(small, kInfinity, {0, 2, 0, 0})) != "");
  CHECK(absence(proof_for(small, kInfinity, {0, 0, 0, 3})) != "");
  CHECK(absence(proof_for(small, kInfinity, {0, 2, 3, 0})) != "");
  for (const double price : {-1e-9, kNaN, kInfinity})
    CHECK(absence(proof_for(small, kInfinity, {0, 2, 0, price})) != "");
  // With room for a third table on SSD, the same prices prove nothing.
  small.topology.ssd_cap_bytes = 30;
  CHECK(absence(proof_for(small, kInfinity, prices)) != "");
  small.topology.ssd_cap_bytes = 0;
  CHECK(absence(proof_for(small, kInfinity, prices)) == "");
}

TEST_CASE("check bound: forged prices of SSD prove no bound above the best plan") {
  // Two of three equal tables fit in HBM. The third takes 10 ms on SSD, which is the rating.
  ProblemSpec small = spec(3, 2, 2);
  small.topology.hbm_cap_bytes = 30;
  small.topology.ssd_cap_bytes = 20;
  SpaceBuilder builder(small);
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 1, 30).add(table, kTableWise, 1, 10, 0, 0, 20);
  const auto space = builder.take();
  // The proved bound is (1 + 1 + 10) / 2. At the price of HBM, a table's options cost the same.
  Proof proof{space, {6 * kLess, {0, 0}, {leaf({{0.5, 0.15, 0, 0}})}}};
  CHECK(proof.wrong().value_or("") == "");
  for (const double price : {0.01, 0.1, 0.5, 1.0, 1e6}) {
    CHECK(proof.after([&](auto& c) { c.nodes[0].multipliers[0].ssd = price; }) != "");
    CHECK(proof.after([&](auto& c) {
      c.bound = 10 * (1 + 1e-6);
      c.nodes[0].multipliers[0].ssd = price;
    }) != "");
  }
}

}  // namespace shardwright::check_leaf_test
