// Proofs that no plan rates below a bound: which the check accepts, and which it refuses.
#include "core/embedding/bound/bound_certificate.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::bound_certificate_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLess = 1 - 1e-8;

BoundNode leaf(std::vector<RankPrices> prices) {
  BoundNode node;
  node.prices = std::move(prices);
  return node;
}

BoundNode cut(std::size_t table, std::vector<BoundPart> parts) {
  BoundNode node;
  node.is_leaf = false;
  node.table = TableId(table);
  node.parts = std::move(parts);
  return node;
}

// A space, and a proof for it that the check accepts.
struct Proof {
  std::shared_ptr<const SearchSpace> space;
  BoundCertificate certificate;

  std::optional<std::string> wrong() const {
    return check_bound(*space, space->problem().topology(), certificate);
  }
  // What is wrong after a change; the proof itself stays.
  template <class Change>
  std::string after(const Change& change) const {
    Proof changed = *this;
    change(changed.certificate);
    return changed.wrong().value_or("");
  }
};

ProblemSpec spec(std::size_t tables, std::int64_t world, std::int64_t local) {
  ProblemSpec spec = problem_spec(tables, world, local);
  spec.topology.hbm_cap_bytes = 100;
  spec.topology.ddr_cap_bytes = 100;
  return spec;
}

// Three tables of 2 ms on two ranks: 3 ms by prices, 4 ms by what a rank can hold.
SpaceBuilder three_tables() {
  SpaceBuilder builder(spec(3, 2, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 2, 10);
  return builder;
}

Proof by_prices() { return {three_tables().take(), {3 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}}; }

Proof by_worths() {
  BoundNode node = leaf({{0.5, 0, 0}});
  for (std::size_t i = 0; i < 3; ++i)
    node.shards.push_back({OptionId(i), 0, 1});
  node.most_worth = {1 + 1e-9};
  return {three_tables().take(), {4 * kLess, {0, 0}, {node}}};
}

// A table of 4 ms, or of 3 ms on either rank, beside one of 4 ms and one of 1 ms: 4.5 ms.
Proof by_options() {
  auto space = SpaceBuilder(spec(3, 2, 2))
                   .add(0, kTableWise, 1, 4, 10)
                   .add(0, kRowWise, 2, 3, 5)
                   .add(1, kTableWise, 1, 4, 10)
                   .add(2, kTableWise, 1, 1, 10)
                   .take();
  return {
      space,
      {4.5 * kLess, {0, 0}, {cut(0, {{OptionId(0), 1}}), leaf({{1, 0, 0}}), leaf({{1, 0, 0}})}}};
}

// Time counts twice on the second rank. Tables of 3 and 2 ms, the second in one shard or, at 1.5
// ms each, in two: all on the first rank rate 5, the 2 ms on the second rate 4.
Proof by_places() {
  ProblemSpec uneven = spec(2, 2, 2);
  uneven.calibration.rank_time = {1, 2};
  auto space = SpaceBuilder(std::move(uneven))
                   .add(0, kTableWise, 1, 3, 10)
                   .add(1, kTableWise, 1, 2, 10)
                   .add(1, kColumnWise, 2, 1.5, 5)
                   .take();
  // With t0 on the first rank, prices show 3.6; on the second it rates 6.
  return {
      space,
      {3.6 * kLess,
       {0, 1},
       {cut(0, {{OptionId(0), 1}}), leaf({{2, 0, 0}, {1, 0, 0}}), leaf({{1, 0, 0}, {0, 0, 0}})}}};
}

}  // namespace

TEST_CASE("bound certificate: genuine proofs are accepted") {
  CHECK(by_prices().wrong().value_or("") == "");
  CHECK(by_worths().wrong().value_or("") == "");
  CHECK(by_options().wrong().value_or("") == "");
  CHECK(by_places().wrong().value_or("") == "");
}

TEST_CASE("bound certificate: a bound that is too high is refused") {
  for (const Proof& proof : {by_prices(), by_worths(), by_options(), by_places()}) {
    CHECK(proof.after([](auto& c) { c.bound *= 1 + 1e-6; }) != "");
    CHECK(proof.after([](auto& c) { c.bound = kNaN; }) == "the bound is not a finite number");
    CHECK(proof.after([](auto& c) { c.bound = kInfinity; }) != "");
    CHECK(proof.after([](auto& c) { c.bound *= 0.9; }) == "");
    CHECK(proof.after([](auto& c) { c.bound = -1; }) == "");
  }
}

TEST_CASE("bound certificate: a tree that is none is refused") {
  const Proof proof = by_options();
  CHECK(proof.after([](auto& c) { c.nodes.clear(); }) == "the tree lacks a node");
  CHECK(proof.after([](auto& c) { c.nodes.pop_back(); }) == "the tree lacks a node");
  CHECK(proof.after([](auto& c) { c.nodes.push_back(c.nodes.back()); }) ==
        "the tree has nodes that belong to nothing");
  CHECK(proof.after([](auto& c) { c.nodes[0].table = TableId(3); }) ==
        "the tree cuts a table that is none");
  CHECK(proof.after([](auto& c) {
    c.nodes.assign(50'000, cut(0, {{OptionId(0), 1}}));
  }) == "the tree is too deep");
  // A cut that leaves all in one part says no more than the part itself.
  CHECK(proof.after([](auto& c) { c.nodes[0].parts.clear(); }) == "");
}

TEST_CASE("bound certificate: classes that do not match the ranks are refused") {
  const Proof proof = by_places();
  for (const std::vector<std::uint32_t>& classes :
       {std::vector<std::uint32_t>{}, {0}, {0, 1, 1}, {0, 2}, {0, 0xffffffffU}}) {
    CHECK(proof.after([&](auto& c) { c.class_of_rank = classes; }) ==
          "the classes of ranks do not match the topology");
  }
  // All ranks alike count as the fastest; the places of the cut are then others.
  CHECK(proof.after([](auto& c) { c.class_of_rank = {0, 0}; }) != "");
  CHECK(proof.after([](auto& c) { c.class_of_rank = {1, 0}; }) != "");
}

TEST_CASE("bound certificate: prices that are none or prove less are refused") {
  const Proof proof = by_places();
  for (const double price : {-1e-9, kNaN, kInfinity}) {
    CHECK(proof.after([&](auto& c) { c.nodes[1].prices[0].load = price; }) ==
          "a leaf lacks valid prices for every class of ranks");
    CHECK(proof.after([&](auto& c) { c.nodes[1].prices[1].hbm = price; }) ==
          "a leaf lacks valid prices for every class of ranks");
    CHECK(proof.after([&](auto& c) { c.nodes[1].prices[1].ddr = price; }) ==
          "a leaf lacks valid prices for every class of ranks");
  }
  CHECK(proof.after([](auto& c) { c.nodes[1].prices.pop_back(); }) != "");
  CHECK(proof.after([](auto& c) { c.nodes[1].prices[0].load = 2.1; }) != "");
  CHECK(proof.after([](auto& c) { c.nodes[1].prices[1].load = 0.9; }) != "");
  CHECK(by_prices().after([](auto& c) { c.nodes[0].prices[0].load = 0; }) != "");
  CHECK(by_prices().after([](auto& c) { c.nodes[0].prices[0].hbm = 0.01; }) != "");
}

TEST_CASE("bound certificate: worths that are none or prove less are refused") {
  const Proof proof = by_worths();
  const auto shard_worth = [&](double worth) {
    return proof.after([&](auto& c) { c.nodes[0].shards[1].worth = worth; });
  };
  CHECK(shard_worth(0) != "");
  CHECK(shard_worth(-1) == "a shard's worth is none");
  CHECK(shard_worth(kNaN) == "a shard's worth is none");
  CHECK(shard_worth(kInfinity) == "a shard's worth is none");
  CHECK(shard_worth(1.5) == "a rank can hold shards worth more than a leaf says");
  CHECK(proof.after([](auto& c) { c.nodes[0].shards.pop_back(); }) ==
        "the worths of a leaf do not exclude a plan below the bound");
  const auto most_worth = [&](std::vector<double> most) {
    return proof.after([&](auto& c) { c.nodes[0].most_worth = std::move(most); });
  };
  CHECK(most_worth({1 - 1e-6}) == "a rank can hold shards worth more than a leaf says");
  CHECK(most_worth({-1}) == "a rank can hold shards worth more than a leaf says");
  CHECK(most_worth({-kInfinity}) == "a rank can hold shards worth more than a leaf says");
  CHECK(most_worth({1.5}) == "the worths of a leaf do not exclude a plan below the bound");
  CHECK(most_worth({kNaN}) == "the worths of a leaf do not exclude a plan below the bound");
  CHECK(most_worth({}) == "a leaf does not say what a rank's shards are worth at most");
  // Prices only speed this up.
  CHECK(proof.after([](auto& c) { c.nodes[0].prices[0] = {7, 3, 1}; }) == "");
}

TEST_CASE("bound certificate: only an option that is in one place is cut at places") {
  Proof proof = by_places();
  const auto cut_at = [&](std::size_t table, std::uint32_t option) {
    return proof.after([&](auto& c) { c.nodes[0] = cut(table, {{OptionId(option), 1}}); });
  };
  CHECK(cut_at(1, 2) == "the tree cuts an option at places that it may span");
  CHECK(cut_at(1, 1) != "the tree cuts an option at places that it may span");
}

TEST_CASE("bound certificate: the slower a rank, the less it holds, but for memory") {
  ProblemSpec slow = spec(1, 2, 2);
  slow.calibration.rank_time = {3, 3};
  const auto space = SpaceBuilder(slow).add(0, kRowWise, 2, 2, 10).take();
  Proof proof{space, {6 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}};
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 6 * (1 + 1e-6); }) != "");
  slow.perf_model = PerfModel::kStorage;
  proof = {SpaceBuilder(slow).add(0, kRowWise, 2, 2, 10).take(),
           {10 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}};
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 10 * (1 + 1e-6); }) != "");
}

TEST_CASE("bound certificate: options without a place under the rules do not count") {
  ProblemSpec ruled = spec(1, 2, 2);
  const auto proof = [&] {
    return Proof{SpaceBuilder(ruled).add(0, kRowWise, 2, 1, 10).add(0, kTableWise, 1, 3, 10).take(),
                 {3 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}};
  };
  CHECK(proof().wrong().has_value());
  ruled.tables[0].placement.max_shards = 1;
  CHECK(proof().wrong().value_or("") == "");
  CHECK(proof().after([](auto& c) { c.bound = 3 * (1 + 1e-6); }) != "");
}

TEST_CASE("bound certificate: a rank without room holds what takes none") {
  const auto space =
      SpaceBuilder(spec(2, 2, 2)).add(0, kTableWise, 1, 3, 10).add(1, kTableWise, 1, 3, 0).take();
  const Topology available =
      space->problem().topology().with_storage({{Bytes(100), Bytes(0)}, {Bytes(-5), Bytes(-5)}});
  BoundCertificate certificate{3 * kLess, {0, 1}, {leaf({{1, 0, 0}, {1, 0, 0}})}};
  CHECK(check_bound(*space, available, certificate).value_or("") == "");
  certificate.bound = 3 * (1 + 1e-6);
  CHECK(check_bound(*space, available, certificate).has_value());
}

}  // namespace shardwright::bound_certificate_test
