// Small problems against every plan: trees over single ranks prove no bound that is too high, find
// plans, and no change of their certificates is accepted.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluation/evaluate.h"
#include "search/embedding/best/bound/ranks/tree/rank_tree.h"
#include "search/embedding/best/bound/relaxation/aggregate_bound.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/option_pool.h"
#include "tests/support/embedding/small_bounds.h"

namespace shardwright::rank_tree_fuzz_test {

namespace {

using namespace shardwright::embedding;
using namespace shardwright::test_support;

// How many problems can have such a tree, were proved at their least rating, have a division by
// ranks of several that can be exchanged in that proof, a leaf by search, and got their best plan
// from the tree.
struct Counts {
  std::size_t possible = 0;
  std::size_t proved = 0;
  std::size_t exchanged = 0;
  std::size_t searched = 0;
  std::size_t found = 0;
};

void grow(RankTree& tree, Budget& budget) {
  constexpr std::size_t kMostNodes = 2'000;
  while (tree.num_nodes() < kMostNodes && !tree.has_ended()) {
    tree.begin_round();
    for (std::size_t lane = 0; lane < tree.num_busy_lanes(); ++lane)
      tree.run_lane(lane, 10'000, budget);
    tree.end_round();
  }
}

bool has_search(const BoundCertificate& certificate) {
  return std::any_of(certificate.nodes.begin(), certificate.nodes.end(),
                     [](const BoundNode& node) { return node.by_search; });
}

bool has_exchange(const BoundCertificate& certificate) {
  for (const BoundNode& node : certificate.nodes) {
    if (node.rank_branch && (node.rank_branch->orbit & (node.rank_branch->orbit - 1)) != 0)
      return true;
  }
  return false;
}

void tamper(Random& random, std::size_t tables, BoundCertificate& certificate) {
  BoundNode& node = certificate.nodes[random.below(certificate.nodes.size())];
  const auto any_ranks = [&] { return static_cast<std::uint32_t>(random.below(16)); };
  if (random.below(8) == 0) {
    certificate.ranks_apart = !certificate.ranks_apart;
  } else if (random.below(4) == 0) {
    std::swap(node, certificate.nodes[random.below(certificate.nodes.size())]);
  } else if (node.rank_branch) {
    if (random.below(2) == 0) node.rank_branch->orbit = any_ranks();
    if (random.below(3) == 0) node.rank_branch->rank_class = any_ranks() % 4;
    if (random.below(3) == 0) node.tables = {TableId(random.below(tables))};
  } else if (node.is_leaf && random.below(3) == 0) {
    node.by_search = !node.by_search;
  } else if (node.is_leaf && random.below(2) == 0) {
    node.is_leaf = false;
    node.tables = {TableId(random.below(tables))};
    node.rank_branch = RankBranch{any_ranks() % 4, any_ranks()};
  } else if (!node.multipliers.empty()) {
    node.multipliers[random.below(node.multipliers.size())].load *=
        0.25 * static_cast<double>(random.below(9));
  }
}

void check_problem(const SmallProblem& small, Random& random, Counts& counts) {
  const std::optional<double> least = least_rating(small);
  if (!least || *least <= 0) return;
  const OptionPool pool(small.space);
  const ChoiceModel all(pool, small.available);
  const ChoiceModel model = all.for_bounds();
  BoundParameters parameters;
  // Some trees are divided down to the last node, others nearly so.
  constexpr std::array kSearchedBits{-1.0, -1.0, 4.0, 6.0, 20.0};
  parameters.ranks.first_searched_bits = kSearchedBits[random.below(kSearchedBits.size())];
  if (!RankModel::is_possible(model)) return;
  ++counts.possible;
  Budget budget;
  RankTree above(model, *least * (1 + 1e-3), {}, {}, parameters, budget);
  grow(above, budget);
  CHECK(above.bound() <= *least * (1 + 1e-9));
  if (const std::optional<Plan> found = above.take_found()) {
    const Evaluation evaluation = evaluate(small.space->problem(), small.available, *found);
    CHECK(evaluation.rating >= *least * (1 - 1e-9));
    if (evaluation.rating <= *least * (1 + parameters.optimality_gap)) ++counts.found;
  }
  RankTree tree(model, *least * (1 - 1e-4), {}, {}, parameters, budget);
  grow(tree, budget);
  CHECK_FALSE(tree.take_found().has_value());
  BoundCertificate proof = tree.certificate(tree.bound());
  CHECK(check_bound(*small.space, small.available, proof).value_or("") == "");
  if (tree.bound() < tree.target()) return;
  ++counts.proved;
  if (has_exchange(proof)) ++counts.exchanged;
  if (has_search(proof)) ++counts.searched;
  proof.bound = *least * (1 + 1e-6);
  CHECK(check_bound(*small.space, small.available, proof).has_value());
  for (int change = 0; change < 8; ++change) {
    tamper(random, model.num_tables(), proof);
    CHECK(check_bound(*small.space, small.available, proof).has_value());
  }
}

}  // namespace

TEST_CASE("rank tree: thousands of small problems against every plan") {
  for (const std::uint64_t seed : seeds({4001, 4002})) {
    Counts counts;
    Random random(seed);
    for (int i = 0; i < 6000; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      check_problem(mixed_problem(random, i), random, counts);
    }
    MESSAGE("possible ", counts.possible, " proved ", counts.proved, " exchanged ",
            counts.exchanged, " searched ", counts.searched, " found ", counts.found);
    CHECK(counts.possible > 600);
    CHECK(counts.proved * 100 > counts.possible * 50);
    CHECK(counts.exchanged > 30);
    CHECK(counts.searched > 30);
    CHECK(counts.found * 100 > counts.possible * 50);
  }
}

}  // namespace shardwright::rank_tree_fuzz_test
