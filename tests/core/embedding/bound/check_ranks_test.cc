// Proofs in which every rank is a class of its own: what may be divided, and what that leaves.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "tests/core/embedding/bound/proofs.h"

namespace shardwright::check_ranks_test {

using namespace shardwright::bound_proofs;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

namespace {

constexpr std::string_view kNotExchanged = "a node divides by ranks that a plan may not exchange";

BoundNode place(std::size_t table, std::uint32_t rank, std::uint32_t orbit) {
  BoundNode node;
  node.is_leaf = false;
  node.tables = {TableId(table)};
  node.rank_branch = RankBranch{rank, orbit};
  return node;
}

// A leaf with these prices of load.
BoundNode priced(const std::vector<double>& loads) {
  std::vector<CapacityMultipliers> multipliers;
  multipliers.reserve(loads.size());
  for (const double load : loads)
    multipliers.push_back({load, 0, 0});
  return leaf(std::move(multipliers));
}

Proof proof_of(SpaceBuilder builder, double bound, std::vector<std::uint32_t> ranks,
               std::vector<BoundNode> nodes) {
  Proof proof{builder.take(), {bound, std::move(ranks), std::move(nodes)}};
  proof.certificate.ranks_apart = true;
  return proof;
}

// So many tables, whose one option has these shards on all ranks of a host.
SpaceBuilder row_wise(std::size_t tables, std::uint32_t ranks,
                      const std::vector<SpaceBuilder::Run>& runs) {
  SpaceBuilder builder(spec(tables, ranks, ranks));
  for (std::size_t table = 0; table < tables; ++table)
    builder.add_runs(table, kRowWise, runs);
  return builder;
}

// Two ranks. Two of three tables of 3 ms are on one of them. The first one is on the first rank, as
// ranks may be exchanged; if the second one is there, too, that is 6 ms, and if not, the third one
// has no place below.
Proof three_on_two() {
  SpaceBuilder builder(spec(3, 2, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 3, 10);
  const BoundNode closed = priced({0, 0});
  return proof_of(std::move(builder), 6 * kLess, {0, 1},
                  {place(0, 0, 3), place(1, 0, 1), closed, closed, closed});
}

}  // namespace

TEST_CASE("check bound: where ranks are apart, tables are placed one after the other") {
  const Proof proof = three_on_two();
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 6 * (1 + 1e-6); }) != "");
  CHECK(proof.after([](auto& c) { c.ranks_apart = false; }) ==
        "a node divides by ranks, which are not apart");
  constexpr std::string_view kNoClasses = "the rank classes do not match the topology";
  CHECK(proof.after([](auto& c) { c.class_of_rank = {0, 0}; }) == kNoClasses);
  CHECK(proof.after([](auto& c) { c.ranks_are_alike = true; }) == kNoClasses);
  CHECK(proof.after([](auto& c) { c.uniform_apart = true; }) == kNoClasses);
  // The first table tells the ranks apart.
  CHECK(proof.after([](auto& c) { c.nodes[1].rank_branch->orbit = 3; }) == kNotExchanged);
  // Without an exchange, the first table may be on the second rank; the others have no place then.
  CHECK(proof.after([](auto& c) { c.nodes[0].rank_branch->orbit = 1; }) == "");
}

TEST_CASE("check bound: a division by ranks that is malformed is refused") {
  const Proof proof = three_on_two();
  constexpr std::string_view kNoRank = "a node divides by a rank that does not exist";
  const auto after_branch = [&](RankBranch branch) {
    return proof.after([&](auto& c) { c.nodes[0].rank_branch = branch; });
  };
  CHECK(after_branch({2, 4}) == kNoRank);
  CHECK(after_branch({0, 5}) == kNoRank);
  CHECK(after_branch({0, 2}) == kNoRank);
  CHECK(proof.after([](auto& c) {
    c.nodes[0].first_child = {{OptionId(0), 3}};
  }) == "a node divides by ranks and by options");
  CHECK(proof.after([](auto& c) {
    c.nodes[0].tables = {TableId(0), TableId(1)};
  }) == "a node divides by ranks and by options");
  CHECK(proof.after([](auto& c) { c.nodes[0].tables = {TableId(7)}; }) ==
        "a node branches on a table that does not exist");
  CHECK(proof.after([](auto& c) { c.nodes[0].uniform_split = UniformSplit{}; }) != "");
  // The first table is on some rank, so this leaf is open.
  CHECK(proof.after([](auto& c) {
    c.nodes = {priced({0, 0})};
    c.nodes[0].shard_duals = {{OptionId(0), 0, 1}};
  }) == "a leaf has patterns although ranks are apart");
}

TEST_CASE("check bound: where ranks are apart, a leaf by search tries plans after an exchange") {
  BoundNode searched = priced({0, 0});
  searched.by_search = true;
  Proof proof = three_on_two();
  proof.certificate.nodes = {searched};
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 6 * (1 + 1e-6); }) ==
        "there is a plan below the bound in a leaf");

  // The first table has 1 ms on the first rank and 3 ms on the second one, the other table is best
  // on the first one: 5 ms in all. On ranks that may be exchanged the 1 ms counts everywhere.
  SpaceBuilder builder(spec(2, 2, 2));
  builder.add_runs(0, kRowWise, {{1, 1, 10}, {1, 3, 10}}).add(1, kTableWise, 1, 4, 10);
  Proof uneven =
      proof_of(std::move(builder), 5 * kLess, {0, 1}, {place(1, 1, 3), searched, priced({0, 0})});
  CHECK(uneven.wrong().value_or("") == "");
  CHECK(uneven.after([](auto& c) { c.bound = 6 * kLess; }) ==
        "there is a plan below the bound in a leaf");
}

TEST_CASE("check bound: ranks are exchanged if nothing tells them or their hosts apart") {
  // Two hosts. At first all ranks are equal; then the first one has a table.
  const auto refused = [](std::uint32_t rank, std::uint32_t orbit) {
    SpaceBuilder builder(spec(2, 4, 2));
    builder.add(0, kTableWise, 1, 3, 10).add(1, kTableWise, 1, 3, 10);
    const BoundNode closed = priced({0, 0, 0, 0});
    return proof_of(std::move(builder), 3 * kLess, {0, 1, 2, 3},
                    {place(0, 0, 15), place(1, rank, orbit), closed, closed, closed})
        .wrong()
        .value_or("");
  };
  CHECK(refused(2, 12) == "");
  CHECK(refused(1, 2) == "");
  CHECK(refused(1, 6) == kNotExchanged);
  CHECK(refused(0, 3) == kNotExchanged);
}

TEST_CASE("check bound: ranks of unequal memory are not exchanged") {
  const auto refused = [](std::uint32_t rank, std::uint32_t orbit) {
    ProblemSpec uneven = spec(1, 3, 3);
    uneven.topology.custom_hbm_cap_bytes = {100, 90, 90};
    SpaceBuilder builder(uneven);
    builder.add(0, kTableWise, 1, 3, 10);
    const BoundNode closed = priced({0, 0, 0});
    return proof_of(std::move(builder), 3 * kLess, {0, 1, 2},
                    {place(0, rank, orbit), closed, closed})
        .wrong()
        .value_or("");
  };
  CHECK(refused(1, 6) == "");
  CHECK(refused(0, 1) == "");
  CHECK(refused(0, 7) == kNotExchanged);
}

TEST_CASE("check bound: a table in several shards has one on every rank that it holds") {
  // Both shards of the first table on one rank take 8 ms; on two, the other table adds 5 to 4 ms.
  SpaceBuilder builder(spec(2, 2, 2));
  builder.add(0, kColumnWise, 2, 4, 10).add(1, kTableWise, 1, 5, 10);
  const Proof proof =
      proof_of(std::move(builder), 8 * kLess, {0, 1},
               {place(0, 0, 3), place(0, 1, 2), priced({0, 0}), priced({1, 0}), priced({0, 0})});
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 8 * (1 + 1e-6); }) != "");
  CHECK(proof.after([](auto& c) { c.nodes[3] = priced({0, 1}); }) != "");
}

TEST_CASE("check bound: where ranks are apart, an option that fills hosts fills one") {
  // Two hosts of two ranks, and three tables that take 3 ms of every rank of a host.
  SpaceBuilder builder(spec(3, 4, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableRowWise, 2, 3, 10);
  const BoundNode closed = priced({0, 0, 0, 0});
  const Proof proof = proof_of(std::move(builder), 6 * kLess, {0, 1, 2, 3},
                               {place(0, 0, 15), place(1, 0, 1), closed, closed, closed});
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 6 * (1 + 1e-6); }) != "");
  // Without a division nothing is certain.
  CHECK(proof.after([&](auto& c) { c.nodes = {closed}; }) != "");
}

TEST_CASE("check bound: an option that lies on one host does so") {
  // Its two shards of 4 ms on one host, and one table of 4 ms on each rank of every host: 8 ms.
  SpaceBuilder builder(spec(2, 4, 2));
  builder.add(0, kTableColumnWise, 2, 4, 10);
  builder.add(1, kRowWise, 4, 4, 10);
  Proof proof = proof_of(std::move(builder), 8 * kLess, {0, 1, 2, 3},
                         {place(0, 0, 15), priced({1, 0, 0, 0}), priced({0, 0, 0, 0})});
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 8 * (1 + 1e-6); }) != "");
  // Below 10 ms, two prices on one host are what a plan with a shard on each of its ranks costs.
  proof.certificate.bound = 10 * kLess;
  CHECK(proof.wrong().has_value());
}

TEST_CASE("check bound: larger shards of an option on all ranks are on some of them") {
  // Two tables, each with 9 ms on two ranks and 1 ms on the others: 40 ms on four ranks.
  const Proof even = proof_of(row_wise(2, 4, {{2, 9, 10}, {2, 1, 10}}), 10 * kLess, {0, 1, 2, 3},
                              {priced({0.25, 0.25, 0.25, 0.25})});
  CHECK(even.wrong().value_or("") == "");
  CHECK(even.after([](auto& c) { c.bound = 10 * (1 + 1e-6); }) != "");

  // Three shards of 3 ms are on three ranks, so at least one of the first two has one.
  const Proof different = proof_of(row_wise(4, 4, {{1, 1, 10}, {3, 3, 10}}), 8 * kLess,
                                   {0, 1, 2, 3}, {priced({0.5, 0.5, 0, 0})});
  CHECK(different.wrong().value_or("") == "");
  CHECK(different.after([](auto& c) { c.bound = 8 * (1 + 1e-6); }) != "");
}

TEST_CASE("check bound: a search places larger shards of an option on all ranks anywhere") {
  // Each table has 1 ms on the first rank and 3 ms on the second one, or the other way round.
  BoundNode searched = priced({0, 0});
  searched.by_search = true;
  const Proof proof =
      proof_of(row_wise(2, 2, {{1, 1, 10}, {1, 3, 10}}), 4 * kLess, {0, 1}, {searched});
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 4 * (1 + 1e-6); }) ==
        "there is a plan below the bound in a leaf");
}

TEST_CASE("check bound: larger shards of an option that fills hosts are on ranks of these") {
  // 18 ms on four ranks. Both blocks of the last table may be on one host.
  SpaceBuilder builder(spec(4, 4, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add_runs(table, kTableRowWise, {{1, 1, 10}, {1, 3, 10}});
  builder.add_runs(3, kGridShard, {{1, 3, 10}, {3, 1, 10}});
  const Proof proof =
      proof_of(std::move(builder), 4.5 * kLess, {0, 1, 2, 3}, {priced({0.25, 0.25, 0.25, 0.25})});
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 4.5 * (1 + 1e-6); }) != "");
  CHECK(proof.after([](auto& c) { c.nodes = {priced({0.5, 0, 0.5, 0})}; }) != "");
}

TEST_CASE("check bound: an option on all ranks needs a rank for each of its larger shards") {
  // No rank has room for the largest shard. The other options take 12 ms of two ranks.
  constexpr std::int64_t kTooMuch = std::int64_t{1} << 60;
  const auto proof_with = [&](std::int64_t bytes) {
    SpaceBuilder builder(spec(2, 2, 2));
    for (std::size_t table = 0; table < 2; ++table) {
      builder.add_runs(table, kRowWise, {{1, 1, 10}, {1, 1, bytes}});
      builder.add(table, kColumnWise, 2, 3, 10);
    }
    return proof_of(std::move(builder), 6 * kLess, {0, 1}, {priced({0.5, 0.5})});
  };
  CHECK(proof_with(kTooMuch).wrong().value_or("") == "");
  CHECK(proof_with(kTooMuch).after([](auto& c) { c.bound = 6 * (1 + 1e-6); }) != "");
  CHECK(proof_with(20).wrong().has_value());
}

}  // namespace shardwright::check_ranks_test
