// Trees in which every rank counts by itself.
#include "search/embedding/best/bound/ranks/tree/rank_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluation/evaluate.h"
#include "search/embedding/best/bound/ranks/tree/rank_proof.h"
#include "search/embedding/best/bound/relaxation/aggregate_bound.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::rank_tree_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

std::string wrong_with(const BoundModel& model, const BoundCertificate& certificate) {
  return check_bound(*model.space, model.space->problem().topology(), certificate).value_or("");
}

// Every lane that has a node visits about one.
void run_round(RankTree& tree, Budget& budget) {
  tree.begin_round();
  for (std::size_t lane = 0; lane < tree.num_busy_lanes(); ++lane)
    tree.run_lane(lane, 1, budget);
  tree.end_round();
}

void run_round(RankProof& proof, const BoundRows& rows, double bound, double goal,
               std::uint64_t work, Budget& budget) {
  proof.begin_round(bound, goal);
  for (std::size_t lane = 0; lane < proof.num_busy_lanes(); ++lane)
    proof.run_lane(lane, rows, work, budget);
  proof.end_round();
}

void grow(RankTree& tree, Budget& budget) {
  for (int round = 0; round < 1'000 && !tree.has_ended(); ++round)
    run_round(tree, budget);
}

// Nodes are divided down to the last one.
BoundParameters without_search() {
  BoundParameters parameters;
  parameters.ranks.first_searched_bits = -1;
  return parameters;
}

// Five tables of 7 ms on four ranks: no plan rates below 14 ms.
struct FiveOnFour {
  explicit FiveOnFour(double target, const BoundParameters& chosen = without_search())
      : parameters(chosen), tree(model.choices, target, {}, {}, parameters, budget) {}

  BoundModel model = five_on_four();
  BoundParameters parameters;
  Budget budget;
  RankTree tree;
};

}  // namespace

TEST_CASE("rank tree: proves a target below which there is no plan, once for equal ranks") {
  FiveOnFour own(13.999);
  RankTree& tree = own.tree;
  grow(tree, own.budget);
  CHECK(tree.has_ended());
  // Without exchanges, there would be a node for every way to put four tables on four ranks.
  CHECK(tree.num_nodes() > 5);
  CHECK(tree.num_nodes() < 20);
  CHECK_FALSE(tree.take_found().has_value());
  CHECK(tree.bound() == 13.999);
  BoundCertificate certificate = tree.certificate(tree.bound());
  CHECK(certificate.ranks_apart);
  CHECK(wrong_with(own.model, certificate) == "");
  certificate.bound = 14.001;
  CHECK(wrong_with(own.model, certificate) != "");
}

TEST_CASE("rank tree: where there are few plans, all are tried") {
  FiveOnFour own(13.999, {});
  RankTree& tree = own.tree;
  grow(tree, own.budget);
  CHECK(tree.num_nodes() == 1);
  CHECK(tree.bound() == 13.999);
  BoundCertificate certificate = tree.certificate(tree.bound());
  REQUIRE(certificate.nodes.size() == 1);
  CHECK(certificate.nodes[0].by_search);
  CHECK(wrong_with(own.model, certificate) == "");
  certificate.bound = 14.001;
  CHECK(wrong_with(own.model, certificate) != "");
}

TEST_CASE("rank tree: where all plans are tried, the best one lowers the target") {
  FiveOnFour own(30, {});
  RankTree& tree = own.tree;
  grow(tree, own.budget);
  // The search of the root finds a plan, then the best one, and then none below it.
  CHECK(tree.num_nodes() == 1);
  const std::optional<Plan> found = tree.take_found();
  REQUIRE(found.has_value());
  const Problem& problem = own.model.space->problem();
  CHECK(evaluate(problem, problem.topology(), *found).rating == 14);
  CHECK(tree.target() < 14);
  CHECK(tree.bound() == tree.target());
  CHECK(wrong_with(own.model, tree.certificate(tree.bound())) == "");
}

TEST_CASE("rank tree: proves less if the check may take few steps only") {
  FiveOnFour own(13.999);
  RankTree& tree = own.tree;
  grow(tree, own.budget);
  CHECK(tree.bound_within(1'000'000) == 13.999);
  const double less = tree.bound_within(60);
  CHECK(less < 13.999);
  CHECK(less >= 8.75);
  const BoundCertificate certificate = tree.certificate(less);
  CHECK(certificate.nodes.size() < tree.certificate(13.999).nodes.size());
  CHECK(wrong_with(own.model, certificate) == "");
}

TEST_CASE("rank tree: knows what is closed, and how long the check of all it did takes") {
  FiveOnFour own(13.999);
  RankTree& tree = own.tree;
  double closed = 0;
  while (!tree.has_ended()) {
    run_round(tree, own.budget);
    CHECK(tree.closed_part() >= closed);
    closed = tree.closed_part();
    CHECK((closed == 1) == tree.has_ended());
  }
  const BoundCertificate certificate = tree.certificate(13.999);
  const SearchSpace& space = *own.model.space;
  const Topology& topology = space.problem().topology();
  const std::uint64_t steps = tree.check_steps();
  CHECK(check_bound(space, topology, certificate, steps).value_or("") == "");
  CHECK(check_bound(space, topology, certificate, steps / 4).value_or("") == kProofTooLong);
}

TEST_CASE("rank tree: what lanes do does not depend on which one is the first to do it") {
  SpaceBuilder builder(problem_spec(13, 4, 4));
  for (std::uint32_t table = 0; table < 13; ++table)
    builder.add(table, kTableWise, 1, 5 + std::sqrt(7.0 * table), 20);
  const BoundModel model(builder.take());
  const BoundParameters parameters = without_search();
  Budget budget;
  RankTree forwards(model.choices, 37, {}, {}, parameters, budget);
  RankTree backwards(model.choices, 37, {}, {}, parameters, budget);
  std::size_t most_busy = 0;
  for (int round = 0; round < 60 && !forwards.has_ended(); ++round) {
    forwards.begin_round();
    backwards.begin_round();
    const std::size_t busy = forwards.num_busy_lanes();
    most_busy = std::max(most_busy, busy);
    REQUIRE(backwards.num_busy_lanes() == busy);
    for (std::size_t lane = 0; lane < busy; ++lane) {
      forwards.run_lane(lane, 20'000, budget);
      backwards.run_lane(busy - 1 - lane, 20'000, budget);
    }
    forwards.end_round();
    backwards.end_round();
    CHECK(forwards.num_nodes() == backwards.num_nodes());
    CHECK(forwards.bound() == backwards.bound());
    CHECK(forwards.target() == backwards.target());
  }
  CHECK(most_busy == parameters.ranks.lanes);
  const BoundCertificate one = forwards.certificate(forwards.bound());
  CHECK(one.nodes.size() == backwards.certificate(backwards.bound()).nodes.size());
  CHECK(wrong_with(model, one) == "");
}

TEST_CASE("rank tree: finds the best plan below its target, and proves that it is the best") {
  FiveOnFour own(30);
  RankTree& tree = own.tree;
  grow(tree, own.budget);
  const std::optional<Plan> found = tree.take_found();
  REQUIRE(found.has_value());
  const Problem& problem = own.model.space->problem();
  CHECK(evaluate(problem, problem.topology(), *found).rating == 14);
  CHECK(tree.target() < 14);
  CHECK(tree.bound() > 14 * (1 - own.parameters.optimality_gap));
  CHECK(wrong_with(own.model, tree.certificate(tree.bound())) == "");
}

TEST_CASE("rank tree: larger shards of choices on all ranks are on some ranks") {
  // 8 ms for each of the first three tables, and 4 for the last one: 28 ms on four ranks.
  SpaceBuilder builder(problem_spec(4, 4, 2));
  for (std::uint32_t table = 0; table < 3; ++table)
    builder.add_runs(table, kRowWise, {{2, 3, 10}, {2, 1, 10}});
  builder.add_runs(3, kTableRowWise, {{1, 3, 10}, {1, 1, 10}});
  builder.add_runs(3, kGridShard, {{1, 3, 10}, {1, 1, 10}, {1, 3, 10}, {1, 1, 10}});
  const BoundModel model(builder.take());
  const auto bound_with = [&](double least_extra) {
    BoundParameters parameters = without_search();
    parameters.ranks.least_extra = least_extra;
    Budget budget;
    RankTree tree(model.choices, 6.9, {}, {}, parameters, budget);
    grow(tree, budget);
    CHECK(wrong_with(model, tree.certificate(tree.bound())) == "");
    return tree.bound();
  };
  CHECK(bound_with(0) == 6.9);
  CHECK(bound_with(1e-3) == 6.9);
  // What may be ignored is all that tells the shards apart.
  CHECK(bound_with(10) < 5);
}

TEST_CASE("rank tree: whatever it has done so far is a proof of its lowest open node") {
  FiveOnFour own(13.999);
  RankTree& tree = own.tree;
  double before = 0;
  while (!tree.has_ended()) {
    run_round(tree, own.budget);
    CHECK(tree.bound() >= before);
    before = tree.bound();
    if (before > 0) CHECK(wrong_with(own.model, tree.certificate(tree.bound())) == "");
  }
  CHECK(before == 13.999);
}

TEST_CASE("rank tree: a lower target leaves what is closed, and needs less") {
  FiveOnFour own(13.999);
  RankTree& tree = own.tree;
  run_round(tree, own.budget);
  tree.lower_target(8.7);
  grow(tree, own.budget);
  CHECK(tree.bound() == 8.7);
  CHECK(wrong_with(own.model, tree.certificate(tree.bound())) == "");
}

TEST_CASE("rank orbits: equal ranks of a host, and hosts of equal ranks") {
  SpaceBuilder builder(problem_spec(1, 6, 2));
  builder.add(0, kTableWise, 1, 7, 10);
  const BoundModel model(builder.take());
  const RankModel ranks(model.choices, 10);
  CHECK(rank_orbits(ranks, {}) == std::vector<ClassSet>(6, 63));
  // Rank 2 is named: its host is unlike the others, which are still equal.
  CHECK(rank_orbits(ranks, {4}) == std::vector<ClassSet>{51, 51, 4, 8, 51, 51});
  // Ranks 0 and 3 are named together: their hosts are equal.
  CHECK(rank_orbits(ranks, {9}) == std::vector<ClassSet>{9, 6, 6, 9, 48, 48});
  CHECK(rank_orbits(ranks, {1, 8}) == std::vector<ClassSet>{1, 2, 4, 8, 48, 48});
}

TEST_CASE("rank domain: shards go where they fit beside what is there for certain") {
  SpaceBuilder builder(problem_spec(2, 2, 2));
  builder.add(0, kTableWise, 1, 3, 10).add(1, kColumnWise, 2, 4, 10).add(1, kTableWise, 1, 2, 30);
  const BoundModel model(builder.take());
  const RankModel ranks(model.choices, 6);
  RankDomain domain = whole_domain(ranks);
  REQUIRE(domain.size() == 3);
  RankDivision first;
  first.orbit = 3;
  Budget budget;
  RankDomain elsewhere = domain;
  restrict_to_child(ranks, first, false, elsewhere);
  CHECK_FALSE(remove_misfits(ranks, 6, elsewhere, budget));
  restrict_to_child(ranks, first, true, domain);
  REQUIRE(remove_misfits(ranks, 6, domain, budget));
  CHECK(domain[0].may == 1);
  // 3 + 4 ms are too much, 3 + 2 ms are not.
  CHECK(domain[1].may == 2);
  CHECK(domain[2].may == 3);
  RankDivision by_choice;
  by_choice.table = 1;
  by_choice.first_child = {1};
  restrict_to_child(ranks, by_choice, false, domain);
  CHECK(domain[1].may == 0);
  CHECK(domain[2].may == 3);
}

TEST_CASE("rank proof: grows a tree in rounds, and says what is better than what others proved") {
  const BoundModel model = five_on_four();
  BoundParameters parameters = without_search();
  const BoundRows rows(model.choices, false, parameters.classes);
  Budget budget;
  const auto grow_all = [&](RankProof& proof) {
    for (int round = 0; round < 100 && proof.has_next(20); ++round)
      run_round(proof, rows, 8.75, 20, 10'000, budget);
  };
  RankProof proof(model.choices, parameters);
  REQUIRE(proof.has_next(20));
  CHECK_FALSE(proof.is_rising());
  grow_all(proof);
  std::optional<BoundCertificate> proved = proof.take_proof();
  REQUIRE(proved.has_value());
  CHECK(proved->bound > 14 * (1 - parameters.optimality_gap));
  CHECK(wrong_with(model, *proved) == "");
  CHECK(proof.take_found().has_value());
  CHECK_FALSE(proof.take_proof().has_value());
  CHECK(proof.is_ahead());
  CHECK(proof.is_rising());
  CHECK_FALSE(proof.has_next(19.9));
  // A goal that is much lower is worth another tree.
  CHECK(proof.has_next(13.9));
  parameters.ranks.most_cells = 19;
  RankProof too_large(model.choices, parameters);
  grow_all(too_large);
  CHECK_FALSE(too_large.take_proof().has_value());
  CHECK_FALSE(too_large.has_next(20));
}

TEST_CASE("rank proof: a tree is planted anew, once, with what its divisions gained") {
  const BoundModel model = five_on_four();
  BoundParameters parameters = without_search();
  const BoundRows rows(model.choices, false, parameters.classes);
  // Rounds until the goal is proved, and those in which only the first lane worked: it plants then.
  const auto rounds_to_prove = [&](std::size_t trial_nodes) {
    parameters.ranks.trial_nodes = trial_nodes;
    Budget budget;
    RankProof proof(model.choices, parameters);
    int alone = 0;
    for (int round = 1; round < 100; ++round) {
      run_round(proof, rows, 8.75, 13.999, 1, budget);
      alone += proof.num_busy_lanes() == 1 ? 1 : 0;
      const std::optional<BoundCertificate> proved = proof.take_proof();
      if (!proved || proved->bound < 13.99) continue;
      CHECK(wrong_with(model, *proved) == "");
      return std::pair(round, alone);
    }
    return std::pair(100, alone);
  };
  const auto [straight, alone] = rounds_to_prove(1'000);
  const auto [again, twice_alone] = rounds_to_prove(1);
  CHECK(straight < again);
  CHECK(twice_alone > alone);
  CHECK(again < 100);  // more than once, it would never end
}

TEST_CASE("rank proof: a tree whose check takes too long does not rise") {
  const BoundModel model = five_on_four();
  BoundParameters parameters = without_search();
  const BoundRows rows(model.choices, false, parameters.classes);
  for (const std::uint64_t most : {parameters.ranks.most_goal_check_steps, std::uint64_t{1}}) {
    parameters.ranks.most_goal_check_steps = most;
    parameters.ranks.most_check_steps = 1;
    Budget budget;
    RankProof proof(model.choices, parameters);
    for (int round = 0; round < 100 && proof.has_next(13.999); ++round)
      run_round(proof, rows, 8.75, 13.999, 1, budget);
    CHECK(proof.is_ahead());
    CHECK(proof.is_rising() == (most > 1));
    CHECK(proof.take_proof().has_value() == (most > 1));
  }
}

TEST_CASE("rank proof: only one of the goal may take long to check") {
  const BoundModel model = five_on_four();
  BoundParameters parameters = without_search();
  parameters.ranks.most_check_steps = 60;
  const BoundRows rows(model.choices, false, parameters.classes);
  Budget budget;
  RankProof proof(model.choices, parameters);
  double bound = 8;
  for (int round = 0; round < 100 && proof.has_next(13.999); ++round) {
    run_round(proof, rows, bound, 13.999, 1, budget);
    const std::optional<BoundCertificate> proved = proof.take_proof();
    if (!proved) continue;
    CHECK(proved->bound > bound);
    bound = proved->bound;
    CHECK(proof.is_long() == (bound > 13.99));
    CHECK(wrong_with(model, *proved) == "");
  }
  CHECK(bound > 13.99);
}

}  // namespace shardwright::rank_tree_test
