// The tree of a proof: it serves several targets, and lanes share it.
#include "search/embedding/bound/bound_tree.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/bound_prover.h"
#include "search/embedding/bound/shared_tree.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/certificate_text.h"
#include "tests/support/embedding/six_kinds.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::bound_tree_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;
using NodeId = BoundTree::NodeId;

using Model = BoundModel;

// Each of two tables takes 3 ms on one rank, or 2 ms on each of two.
Model two_tables() {
  SpaceBuilder builder(one_host_spec(2, 2));
  for (std::size_t table = 0; table < 2; ++table) {
    builder.add(table, kTableWise, 1, 3, 1);
    builder.add(table, kColumnWise, 2, 2, 1);
  }
  return Model(builder.take());
}

// Runs rounds with the lanes in order or backwards.
void run_in_rounds(BoundProver& prover, double rating, bool backwards) {
  for (int round = 0; round < 400 && !prover.finished(); ++round) {
    prover.begin_round(rating);
    const std::size_t lanes = prover.num_lanes();
    for (std::size_t i = 0; i < lanes; ++i) {
      Budget budget;
      prover.run_lane(backwards ? lanes - 1 - i : i, 20'000, budget);
    }
    prover.end_round();
  }
}

}  // namespace

TEST_CASE("bound tree: a division remains, and a leaf is proved up to its target") {
  const Model model = two_tables();
  BoundTree tree(model.rows);
  Budget budget;
  CHECK(tree.open_leaves(3) == std::vector<NodeId>{0});
  // The first child has the second table on one rank, and the second child has it on two.
  Branch branch;
  branch.tables = {1};
  branch.first_child = {{model.choices.first_choice(1), 1}};
  const NodeId first = tree.divide(0, 10, branch, {});
  CHECK(tree.open_leaves(3) == std::vector<NodeId>{first, first + 1});
  CHECK(tree.domain(0, 10, budget) == Domain{1, 1, 1, 1});
  CHECK(tree.domain(first, 10, budget) == Domain{1, 1, 1, 0});
  CHECK(tree.domain(first + 1, 10, budget) == Domain{1, 1, 0, 1});
  // Below 2.5 ms no table can be on one rank, where it takes 3 ms.
  CHECK(tree.domain(first, 2.5, budget) == Domain{0, 1, 0, 0});

  BoundNode proof;
  proof.multipliers.resize(1);
  tree.close(first, 3, proof);
  CHECK(tree.open_leaves(3) == std::vector<NodeId>{first + 1});
  CHECK(tree.open_leaves(2) == std::vector<NodeId>{first + 1});
  CHECK(tree.open_leaves(4) == std::vector<NodeId>{first, first + 1});
  tree.close(first + 1, 4, proof);
  CHECK(tree.open_leaves(3).empty());

  const std::vector<BoundNode> nodes = tree.certificate_nodes(3);
  REQUIRE(nodes.size() == 3);
  CHECK_FALSE(nodes[0].is_leaf);
  CHECK(nodes[0].tables == std::vector<TableId>{model.choices.table(1)});
  CHECK(nodes[1].is_leaf);
  CHECK(nodes[2].is_leaf);
}

TEST_CASE("bound tree: what multipliers remove below a target stays removed below lower ones") {
  // Two ranks. The first table takes 1 ms on one rank, or 3 ms and less memory on each of both.
  SpaceBuilder builder(one_host_spec(2, 2));
  builder.add(0, kTableWise, 1, 1, 9).add(0, kColumnWise, 2, 3, 1).add(1, kTableWise, 1, 3, 1);
  const Model model(builder.take());
  const std::vector<CapacityMultipliers> even{{0.5, 0, 0}};
  Budget budget;
  BoundTree tree(model.rows);
  Branch branch;
  branch.tables = {1};
  branch.first_child = {{model.choices.first_choice(1), 1}};
  // Two ranks have 8 ms at a target of 4 ms. The tables take at least 4 ms, so 6 ms instead of 1 ms
  // for the first table is too dear.
  const NodeId first = tree.divide(0, 4, branch, {even});
  CHECK(tree.domain(first, 4, budget) == Domain{1, 0, 1});
  CHECK(tree.domain(first, 3.5, budget) == Domain{1, 0, 1});
  // The multipliers are valid only for targets up to 4 ms.
  CHECK(tree.domain(first, 4.1, budget) == Domain{1, 1, 1});
  BoundNode proof;
  proof.multipliers.resize(1);
  tree.close(first, 4.1, proof);
  tree.close(first + 1, 4.1, proof);
  CHECK(tree.certificate_nodes(4)[0].fixing.size() == 1);
  CHECK(tree.certificate_nodes(4.1)[0].fixing.empty());
}

TEST_CASE("bound prover: lanes share a tree, and the order in which they run changes nothing") {
  const Model model(tables_of_six_kinds());
  BoundParameters parameters;
  parameters.targets.alone_work = 0;
  BoundProver forwards(model.choices, parameters);
  BoundProver backwards(model.choices, parameters);
  run_in_rounds(forwards, kRatingOfSixKinds, false);
  run_in_rounds(backwards, kRatingOfSixKinds, true);
  CHECK(forwards.bound() == backwards.bound());
  CHECK(certificate_text(forwards.certificate()) == certificate_text(backwards.certificate()));
  const auto wrong =
      check_bound(*model.space, model.space->problem().topology(), forwards.certificate());
  CHECK(wrong.value_or("") == "");
}

TEST_CASE("bound prover: a tree is shared as soon as it has two leaves") {
  const Model model(tables_of_six_kinds());
  BoundParameters parameters;
  parameters.targets.alone_work = 0;
  BoundProver prover(model.choices, parameters);
  for (int round = 0; round < 400 && !prover.is_shared(); ++round) {
    Budget budget;
    prover.begin_round(kRatingOfSixKinds);
    prover.run_lane(0, 20'000, budget);
    prover.end_round();
  }
  REQUIRE(prover.is_shared());
  const BoundTree& tree = prover.shared()->tree();
  CHECK(tree.closed_part(kRatingOfSixKinds / 2) == 0);
}

}  // namespace shardwright::bound_tree_test
