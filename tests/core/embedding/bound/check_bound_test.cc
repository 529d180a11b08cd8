// Which proofs of a lower bound the check accepts, and which it refuses.
#include "core/embedding/bound/check_bound.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::check_bound_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLess = 1 - 1e-8;

BoundNode leaf(std::vector<CapacityMultipliers> multipliers) {
  BoundNode node;
  node.multipliers = std::move(multipliers);
  return node;
}

BoundNode branch(std::size_t table, std::vector<OptionDomain> first_child) {
  BoundNode node;
  node.is_leaf = false;
  node.tables = {TableId(table)};
  node.first_child = std::move(first_child);
  return node;
}

// A search space and a proof for it that the check accepts.
struct Proof {
  std::shared_ptr<const SearchSpace> space;
  BoundCertificate certificate;

  std::optional<std::string> wrong() const {
    return check_bound(*space, space->problem().topology(), certificate);
  }
  // Returns what the check finds wrong with a changed copy of the proof.
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

// Three tables of 2 ms on two ranks: the Lagrangian bound is 3 ms, the pattern bound 4 ms.
SpaceBuilder three_tables() {
  SpaceBuilder builder(spec(3, 2, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 2, 10);
  return builder;
}

Proof lagrangian_proof() {
  return {three_tables().take(), {3 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}};
}

Proof pattern_proof() {
  BoundNode node = leaf({{0.5, 0, 0}});
  for (std::size_t i = 0; i < 3; ++i)
    node.shard_duals.push_back({OptionId(i), 0, 1});
  node.max_pattern_values = {1 + 1e-9};
  return {three_tables().take(), {4 * kLess, {0, 0}, {node}}};
}

// Two ranks. The first table takes 4 ms on one rank or 3 ms on each of both; the others take 4 ms
// and 1 ms on one rank. The bound is 4.5 ms.
Proof branch_by_options() {
  auto space = SpaceBuilder(spec(3, 2, 2))
                   .add(0, kTableWise, 1, 4, 10)
                   .add(0, kRowWise, 2, 3, 5)
                   .add(1, kTableWise, 1, 4, 10)
                   .add(2, kTableWise, 1, 1, 10)
                   .take();
  return {
      space,
      {4.5 * kLess, {0, 0}, {branch(0, {{OptionId(0), 1}}), leaf({{1, 0, 0}}), leaf({{1, 0, 0}})}}};
}

// The same, up to 5 ms: with the first table on one rank, no rank can hold two tables. The
// multipliers of the node show that the first table is on one rank: 6 ms on both is 2 ms more than
// 4, and all ranks have 1 ms more than 9.
Proof reduced_by_costs() {
  Proof proof = branch_by_options();
  BoundNode node = leaf({{0.5, 0, 0}});
  node.fixing = {{{1, 0, 0}}};
  for (const std::size_t option : {0UL, 2UL, 3UL})
    node.shard_duals.push_back({OptionId(option), 0, 1});
  node.max_pattern_values = {1 + 1e-9};
  proof.certificate = {5 * kLess, {0, 0}, {node}};
  return proof;
}

// The first table takes 3 ms on each of two ranks, the second one 2 ms on one or 1.9 ms on each.
Proof reduced_by_common_use() {
  auto space = SpaceBuilder(spec(2, 2, 2))
                   .add(0, kRowWise, 2, 3, 10)
                   .add(1, kTableWise, 1, 2, 10)
                   .add(1, kRowWise, 2, 1.9, 10)
                   .take();
  return {space, {4.9 * kLess, {0, 0}, {leaf({{0, 0, 0}})}}};
}

// The second rank is half as fast. The first table takes 3 ms; the second takes 2 ms in one shard,
// or 1.5 ms in each of two. Both on the first rank rate 5, the second one on the second rank rates
// 4.
Proof branch_by_places() {
  ProblemSpec uneven = spec(2, 2, 2);
  uneven.calibration.rank_time = {1, 2};
  auto space = SpaceBuilder(std::move(uneven))
                   .add(0, kTableWise, 1, 3, 10)
                   .add(1, kTableWise, 1, 2, 10)
                   .add(1, kColumnWise, 2, 1.5, 5)
                   .take();
  // With the first table on rank 0 the Lagrangian bound is 3.6; on rank 1 that table alone rates 6.
  return {space,
          {3.6 * kLess,
           {0, 1},
           {branch(0, {{OptionId(0), 1}}), leaf({{2, 0, 0}, {1, 0, 0}}),
            leaf({{1, 0, 0}, {0, 0, 0}})}}};
}

BoundNode branch_on_count(std::vector<TableId> tables, std::uint32_t count,
                          std::vector<OptionDomain> first_child) {
  BoundNode node;
  node.is_leaf = false;
  node.tables = std::move(tables);
  node.count = count;
  node.first_child = std::move(first_child);
  return node;
}

// Two ranks. Each of three equal tables takes 2 ms on one rank or 1.5 ms on each of both. With one
// of them on both ranks the rating is 3.5 ms, which is the least; with none it is 4 ms.
SpaceBuilder equal_tables() {
  SpaceBuilder builder(spec(3, 2, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 2, 10).add(table, kRowWise, 2, 1.5, 5);
  return builder;
}

// At least one table is on both ranks, or none is.
Proof branch_by_count() {
  BoundNode packed = leaf({{0.5, 0, 0}});
  for (const std::size_t option : {0U, 2U, 4U})
    packed.shard_duals.push_back({OptionId(option), 0, 1});
  packed.max_pattern_values = {1 + 1e-9};
  return {equal_tables().take(),
          {3.5 * kLess,
           {0, 0},
           {branch_on_count({TableId(0), TableId(1), TableId(2)}, 1, {{OptionId(1), 1}}),
            leaf({{1, 0, 0}}), packed}}};
}

// At least two tables are on both ranks, or fewer are: then the first one is, or none is.
Proof branch_by_count_of_two() {
  Proof proof = branch_by_count();
  std::vector<BoundNode>& nodes = proof.certificate.nodes;
  nodes[0].count = 2;
  nodes.insert(nodes.begin() + 2, {branch(0, {{OptionId(1), 1}}), leaf({{1, 0, 0}})});
  return proof;
}

// Two ranks of 100 bytes. Each of three tables takes 60 bytes and 1 ms on one rank, or 5 bytes and
// 3 ms on each of both. All bytes fit, but no rank has room for two large shards: one table is on
// both ranks, and the bound is 4 ms. The first table is, or it is not.
Proof searched() {
  SpaceBuilder builder(spec(3, 2, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 1, 60).add(table, kRowWise, 2, 3, 5);
  BoundNode tried = leaf({{0, 0, 0}});
  tried.by_search = true;
  return {builder.take(),
          {4 * kLess, {0, 0}, {branch(0, {{OptionId(1), 1}}), leaf({{1, 0, 0}}), tried}}};
}

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

TEST_CASE("check bound: multipliers of a node drop options that are too dear, and no others") {
  const Proof proof = reduced_by_costs();
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](BoundCertificate& own) { own.nodes[0].fixing.clear(); }) != "");
  // Prices of memory alone drop nothing.
  CHECK(proof.after([](BoundCertificate& own) { own.nodes[0].fixing = {{{0, 1, 0}}}; }) != "");
  CHECK(proof.after([](BoundCertificate& own) { own.bound = 5.6; }) != "");
  const std::string_view invalid = "a node lacks valid multipliers for every rank class";
  CHECK(proof.after([](BoundCertificate& own) { own.nodes[0].fixing = {{}}; }) == invalid);
  CHECK(proof.after([](BoundCertificate& own) {
    own.nodes[0].fixing = {{{kNaN, 0, 0}}};
  }) == invalid);
  CHECK(proof.after([](BoundCertificate& own) {
    own.nodes[0].fixing = {{{-1, 0, 0}}};
  }) == invalid);
  CHECK(proof.after([](BoundCertificate& own) {
    own.nodes[0].fixing.resize(65, {{0, 0, 0}});
  }) == "a node has too many multipliers");
}

TEST_CASE("check bound: dropping options takes steps, and a check without enough gives up") {
  const Proof proof = reduced_by_common_use();
  const auto wrong = check_bound(*proof.space, proof.space->problem().topology(), proof.certificate,
                                 proof.space->size());
  CHECK(wrong.value_or("") == kProofTooLong);
}

TEST_CASE("check bound: a stop at any look ends the check, and no stop accepts the proof") {
  const Proof proof = reduced_by_common_use();
  const auto check_until = [&](int looks) {
    return check_bound(*proof.space, proof.space->problem().topology(), proof.certificate,
                       std::uint64_t{1} << 32, [&looks] { return looks-- == 0; });
  };
  int looks = 0;
  while (check_until(looks).value_or("") == kProofTooLong)
    ++looks;
  // It looks while it reads the options, and at every node.
  CHECK(looks > static_cast<int>(proof.certificate.nodes.size()));
  CHECK(check_until(looks).value_or("") == "");
}

TEST_CASE("check bound: what every rank holds leaves no room for some options") {
  const Proof proof = reduced_by_common_use();
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](BoundCertificate& own) { own.bound = 4.9 * (1 + 1e-8); }) != "");
}

TEST_CASE(
    "check bound: what an inner node drops stays dropped below it, and comes back beside it") {
  // The first child of the root is closed with the first table on one rank; its own multipliers
  // drop the other option there only.
  Proof proof = branch_by_options();
  proof.certificate.nodes[1].fixing = {{{1, 0, 0}}};
  CHECK(proof.wrong().value_or("") == "");
  proof.certificate.nodes[0].fixing = {{{1, 0, 0}}};
  CHECK(proof.wrong().value_or("") == "");
}

TEST_CASE("check bound: genuine proofs are accepted") {
  CHECK(lagrangian_proof().wrong().value_or("") == "");
  CHECK(pattern_proof().wrong().value_or("") == "");
  CHECK(branch_by_options().wrong().value_or("") == "");
  CHECK(branch_by_places().wrong().value_or("") == "");
  CHECK(branch_by_count().wrong().value_or("") == "");
  CHECK(branch_by_count_of_two().wrong().value_or("") == "");
}

TEST_CASE("check bound: a bound that is too high is refused") {
  for (const Proof& proof : {lagrangian_proof(), pattern_proof(), branch_by_options(),
                             branch_by_places(), branch_by_count(), branch_by_count_of_two()}) {
    CHECK(proof.after([](auto& c) { c.bound *= 1 + 1e-6; }) != "");
    CHECK(proof.after([](auto& c) { c.bound = kNaN; }) == "the bound is not a finite number");
    CHECK(proof.after([](auto& c) { c.bound = kInfinity; }) != "");
    CHECK(proof.after([](auto& c) { c.bound *= 0.9; }) == "");
    CHECK(proof.after([](auto& c) { c.bound = -1; }) == "");
  }
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

TEST_CASE("check bound: classes that do not match the ranks are refused") {
  const Proof proof = branch_by_places();
  for (const std::vector<std::uint32_t>& classes :
       {std::vector<std::uint32_t>{}, {0}, {0, 1, 1}, {0, 2}, {0, 0xffffffffU}}) {
    CHECK(proof.after([&](auto& c) { c.class_of_rank = classes; }) ==
          "the rank classes do not match the topology");
  }
  // With one class, every rank counts as the fastest one, and the branch divides other places.
  CHECK(proof.after([](auto& c) { c.class_of_rank = {0, 0}; }) != "");
  CHECK(proof.after([](auto& c) { c.class_of_rank = {1, 0}; }) != "");
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
  // In a pattern leaf the multipliers only speed up the check.
  CHECK(proof.after([](auto& c) { c.nodes[0].multipliers[0] = {7, 3, 1}; }) == "");
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

TEST_CASE("check bound: a slower rank holds less load, but not less memory") {
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

TEST_CASE("check bound: SSD is a memory with prices of its own") {
  // Five tables of 30 bytes in HBM, or 20 on SSD, and room for two in either.
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
  // Neither memory alone proves it: at no price, all tables are on the other.
  CHECK(absence(proof_for(small, kInfinity, {0, 2, 0, 0})) != "");
  CHECK(absence(proof_for(small, kInfinity, {0, 0, 0, 3})) != "");
  CHECK(absence(proof_for(small, kInfinity, {0, 2, 3, 0})) != "");
  for (const double price : {-1e-9, kNaN, kInfinity})
    CHECK(absence(proof_for(small, kInfinity, {0, 2, 0, price})) != "");
  // With a little more SSD the same prices prove nothing.
  small.topology.ssd_cap_bytes = 30;
  CHECK(absence(proof_for(small, kInfinity, prices)) != "");
  small.topology.ssd_cap_bytes = 0;
  CHECK(absence(proof_for(small, kInfinity, prices)) == "");
}

TEST_CASE("check bound: forged prices of SSD prove no bound above the best plan") {
  // Two of three equal tables fit in HBM. The third takes 10 ms on SSD, alone on its rank or not.
  ProblemSpec small = spec(3, 2, 2);
  small.topology.hbm_cap_bytes = 30;
  small.topology.ssd_cap_bytes = 20;
  SpaceBuilder builder(small);
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 1, 30).add(table, kTableWise, 1, 10, 0, 0, 20);
  const auto space = builder.take();
  // (1 + 1 + 10) / 2: loads shared evenly, at a price of HBM that makes both options equal.
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

TEST_CASE("check bound: options that the rules leave no ranks do not count") {
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

TEST_CASE("check bound: a rank without room holds only shards without memory") {
  const auto space =
      SpaceBuilder(spec(2, 2, 2)).add(0, kTableWise, 1, 3, 10).add(1, kTableWise, 1, 3, 0).take();
  const Topology available =
      space->problem().topology().with_storage({{Bytes(100), Bytes(0)}, {Bytes(-5), Bytes(-5)}});
  BoundCertificate certificate{3 * kLess, {0, 1}, {leaf({{1, 0, 0}, {1, 0, 0}})}};
  CHECK(check_bound(*space, available, certificate).value_or("") == "");
  certificate.bound = 3 * (1 + 1e-6);
  CHECK(check_bound(*space, available, certificate).has_value());
}

}  // namespace shardwright::check_bound_test
