// Trees that branch on how much uniform options use of every rank.
#include "search/embedding/bound/capacity_split_trees.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/embedding/bound/bound_options.h"
#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/aggregate_bound.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::uniform_tree_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// Two hosts of two ranks. Two tables fill a host, with 3 and 2 ms per rank. Tables of 6, 7 and 7 ms
// are on one rank each.
BoundModel two_hosts() {
  SpaceBuilder builder(problem_spec(5, 4, 2));
  builder.add(0, kTableRowWise, 2, 3, 10).add(1, kTableRowWise, 2, 2, 10);
  builder.add(2, kTableWise, 1, 6, 10).add(3, kTableWise, 1, 7, 10);
  builder.add(4, kTableWise, 1, 7, 10);
  return BoundModel(builder.take());
}

bool proves(CapacitySplitTree& tree, double target) {
  Budget budget;
  tree.begin(target, 10'000'000);
  while (!tree.has_ended())
    tree.step(budget);
  return tree.is_proved();
}

// A certificate of two_hosts() with its rank classes, but without nodes.
BoundCertificate apart_certificate(double bound) {
  BoundCertificate certificate;
  certificate.bound = bound;
  certificate.class_of_rank = {0, 0, 1, 1};
  certificate.uniform_apart = true;
  return certificate;
}

BoundCertificate certificate_of(const CapacitySplitTree& tree, double target) {
  BoundCertificate certificate = apart_certificate(target * (1 - kBoundRounding));
  certificate.class_of_rank = tree.classes().class_of_rank();
  certificate.nodes = tree.certificate_nodes();
  return certificate;
}

// Returns the error of the check, or "" if the certificate is right.
std::string error_of(const BoundModel& model, const BoundCertificate& certificate) {
  return check_bound(*model.space, model.space->problem().topology(), certificate).value_or("");
}

// Four hosts of two ranks. One table is on all ranks with 2 ms each, or on one rank with 12 ms.
// Four tables fill a host with 3 ms per rank. Seven tables of 4 ms are on one rank each.
BoundModel four_hosts() {
  SpaceBuilder builder(problem_spec(12, 8, 2));
  builder.add(0, kRowWise, 8, 2, 10).add(0, kTableWise, 1, 12, 10);
  for (std::uint32_t table = 1; table < 5; ++table)
    builder.add(table, kTableRowWise, 2, 3, 10);
  for (std::uint32_t table = 5; table < 12; ++table)
    builder.add(table, kTableWise, 1, 4, 10);
  return BoundModel(builder.take());
}

BoundParameters without_hosts() {
  BoundParameters parameters;
  parameters.classes.max_hosts = 2;
  return parameters;
}

// Runs a tree that cannot prove the target. Checks the placement that it suggests: the load of
// every rank is below the target.
void check_suggested(const BoundModel& model, const BoundParameters& parameters, double target,
                     bool divides) {
  CapacitySplitTree tree(model.choices, parameters);
  Budget budget;
  tree.begin(target, 10'000'000, divides);
  while (!tree.has_ended())
    tree.step(budget);
  REQUIRE(tree.is_stuck());
  const Allocation start = tree.take_suggestion(budget);
  std::vector<double> loads(model.choices.world_size(), 0);
  for (std::size_t table = 0; table < model.choices.num_tables(); ++table) {
    const Choice& choice = model.choices.choices()[start.choice[table]];
    const double load = model.choices.runs(choice).front().load;
    if (choice.reach == Reach::kAllRanks) {
      for (double& own : loads)
        own += load;
      continue;
    }
    REQUIRE(start.ranks[table].size() == choice.num_shards);
    for (const Rank rank : start.ranks[table])
      loads[rank] += load;
    if (choice.reach == Reach::kWholeHosts) {
      CHECK(start.ranks[table][0] % 2 == 0);
      CHECK(start.ranks[table][1] == start.ranks[table][0] + 1);
    }
  }
  CHECK(*std::max_element(loads.begin(), loads.end()) < target);
  CHECK(tree.take_suggestion(budget).choice.empty());
}

// Checks that the tree proves a target just below `least` and none above it, and that the check
// agrees.
void check_least(const BoundModel& model, const BoundParameters& parameters, double least) {
  CapacitySplitTree tree(model.choices, parameters);
  CHECK_FALSE(proves(tree, least + 1e-4));
  REQUIRE(proves(tree, least - 1e-4));
  BoundCertificate certificate = certificate_of(tree, least - 1e-4);
  CHECK(error_of(model, certificate) == "");
  certificate.bound = least + 1e-3;
  CHECK(error_of(model, certificate) != "");
}

}  // namespace

TEST_CASE("uniform tree: classes for uniform choices stand beside those for all others") {
  const BoundModel model = two_hosts();
  REQUIRE(RankClasses::can_be_apart(model.choices, {}));
  RankClasses classes = RankClasses::apart(model.choices, {});
  CHECK(classes.size() == 4);
  CHECK(classes.num_apart() == 2);
  CHECK(classes.everywhere(model.choices.choices()[0]) == 0b1100);
  CHECK(classes.everywhere(model.choices.choices()[2]) == 0b0011);
  std::vector<UniformUse> use(2);
  use[0].restrict_to({0, std::nullopt, 4}, false);
  use[1].restrict_to({1, std::nullopt, 3}, true);
  classes.set_uniform_use(use, 10);
  CHECK(classes.load_limit(0, 10) == doctest::Approx(6));
  CHECK(classes.load_limit(1, 10) == doctest::Approx(10));
  CHECK(classes.load_limit(2, 10) == doctest::Approx(10));
  CHECK(classes.load_limit(3, 10) == doctest::Approx(3));
}

TEST_CASE("uniform tree: without uniform choices, or with them alone, nothing is apart") {
  const BoundModel alone(
      SpaceBuilder(problem_spec(1, 4, 2)).add(0, kTableRowWise, 2, 3, 10).take());
  CHECK_FALSE(RankClasses::can_be_apart(alone.choices, {}));
  const BoundModel none(SpaceBuilder(problem_spec(1, 4, 2)).add(0, kTableWise, 1, 3, 10).take());
  CHECK_FALSE(RankClasses::can_be_apart(none.choices, {}));
}

TEST_CASE("uniform tree: proves the least rating, and the check agrees") {
  const BoundModel model = two_hosts();
  const BoundParameters parameters;
  // In the best plan the tables of 7 ms are beside 2 ms, and the table of 6 ms is beside 3 ms.
  check_least(model, parameters, 9);
}

TEST_CASE("uniform targets: more effort follows when some were cut short, up to the most") {
  UniformTreeParameters parameters;
  parameters.work = 10;
  parameters.most_work = 40;
  parameters.work_growth = 4;
  parameters.most_cut_short = 2;
  UniformTargets targets(parameters);
  const TargetRange range{1, 2, 0.01};
  REQUIRE(targets.has_next(range));
  CHECK(targets.next_work(range) == 10);
  CHECK(targets.next(range) == 1.5);
  targets.fail(1.5, false);
  CHECK(targets.next(range) == 1.25);
  CHECK(targets.work() == 10);
  targets.fail(1.25, false);
  CHECK(targets.has_next(range));
  CHECK(targets.next_work(range) == 40);
  CHECK(targets.next(range) == 1.5);
  CHECK(targets.work() == 40);
  targets.fail(1.5, false);
  CHECK(targets.next(range) == 1.25);
  targets.fail(1.25, false);
  CHECK_FALSE(targets.has_next(range));
}

TEST_CASE("uniform trees: they wait until all others had as much work") {
  const BoundModel model = two_hosts();
  Proof proof(model.choices, {});
  proof.set_rating(9.5);
  CapacitySplitTrees trees(proof);
  CHECK(trees.has_more(proof));
  CHECK_FALSE(trees.is_due(proof));
  trees.note_others(proof.parameters().uniform.work - 1);
  CHECK_FALSE(trees.is_due(proof));
  trees.note_others(1);
  CHECK(trees.is_due(proof));
}

TEST_CASE("uniform tree: the check refuses splits that mean nothing") {
  const BoundModel model = two_hosts();
  BoundCertificate certificate = apart_certificate(1);
  BoundNode split;
  split.is_leaf = false;
  split.uniform_split = UniformSplit{0, std::nullopt, 1};
  BoundNode leaf;
  leaf.multipliers = {{0.25, 0, 0}, {0.25, 0, 0}, {0.25, 0, 0}, {0.25, 0, 0}};
  certificate.nodes = {split, leaf, leaf};
  const auto error = [&] { return error_of(model, certificate); };
  CHECK(error() == "");
  certificate.nodes[0].uniform_split->rank_class = 2;
  CHECK(error() == "a node splits a rank class that has no part for uniform options");
  certificate.nodes[0].uniform_split = UniformSplit{0, std::nullopt, -1};
  CHECK(error() == "a node splits a rank class at no valid use");
  certificate.nodes[0].uniform_split = UniformSplit{0, MemoryTier::kHbm, 0.5};
  CHECK(error() == "a node splits a rank class at no valid use");
  certificate.nodes[0].uniform_split = UniformSplit{0, std::nullopt, 1};
  certificate.nodes[0].tables = {TableId(0)};
  CHECK(error() == "a node divides tables and what uniform options use");
  certificate.nodes[0].tables.clear();
  certificate.uniform_apart = false;
  CHECK(error() == "a node splits a rank class that has no part for uniform options");
}

TEST_CASE("uniform tree: where hosts are many, only choices on all ranks are apart") {
  const BoundModel model = four_hosts();
  const BoundParameters parameters = without_hosts();
  REQUIRE(RankClasses::can_be_apart(model.choices, parameters.classes));
  const RankClasses classes = RankClasses::apart(model.choices, parameters.classes);
  CHECK(classes.size() == 2);
  CHECK(classes.is_apart(model.choices.choices()[0]));
  CHECK_FALSE(classes.is_apart(model.choices.choices()[2]));
  // In the best plan each rank has 2 ms, and all but one have 3 ms of a host's table and 4 ms, too.
  check_least(model, parameters, 9);
}

TEST_CASE("uniform tree: what tables certainly use on all ranks is divided off first") {
  const BoundModel model = four_hosts();
  const BoundParameters parameters = without_hosts();
  CapacitySplitTree tree(model.choices, parameters);
  REQUIRE(proves(tree, 8.9999));  // 12 ms do not fit on one rank
  const std::vector<BoundNode> nodes = tree.certificate_nodes();
  REQUIRE(nodes.front().uniform_split.has_value());
  CHECK(nodes.front().uniform_split->at == doctest::Approx(2));
}

TEST_CASE("uniform tree: its patterns say where tables may be") {
  for (const bool divides : {true, false}) {
    check_suggested(two_hosts(), {}, 9.0001, divides);
    check_suggested(four_hosts(), without_hosts(), 9.0001, divides);
    check_suggested(four_hosts(), without_hosts(), 12.0001, divides);
  }
}

TEST_CASE("uniform targets: some above one where nothing was left to divide suggest plans") {
  UniformTreeParameters parameters;
  parameters.suggestions = 3;
  UniformTargets targets(parameters);
  const TargetRange range{1, 2, 0.01};
  CHECK(targets.next(range) == 1.5);
  CHECK_FALSE(targets.is_suggesting());
  targets.fail(1.5, true);
  CHECK(targets.has_next(range));
  CHECK(targets.next(range) == 1.75);
  CHECK(targets.is_suggesting());
  CHECK(targets.next(range) == 1.875);
  const TargetRange lower{1, 1.8, 0.01};  // a plan was found
  CHECK(targets.next(lower) == doctest::Approx(1.65));
  CHECK(targets.next(lower) == doctest::Approx(1.25));  // the last suggestion
  CHECK_FALSE(targets.is_suggesting());
}

TEST_CASE("uniform tree: both parts of whole ranks together take no more than those") {
  // 30 ms on four ranks are 7.5 ms each. A leaf without prices of whole ranks cannot prove this,
  // because either part could fill all ranks.
  const BoundModel model = two_hosts();
  BoundCertificate certificate = apart_certificate(7.4);
  BoundNode& leaf = certificate.nodes.emplace_back();
  leaf.multipliers.resize(4);
  leaf.max_pattern_values.assign(4, 1e-9);
  leaf.whole_multipliers = {{1, 0, 0}, {1, 0, 0}};
  for (std::uint32_t option = 0; option < 5; ++option) {
    const ShardCost& cost = model.space->option(OptionId(option)).costs[0];
    leaf.shard_duals.push_back({OptionId(option), 0, load_of(cost, PerfModel::kPerf)});
  }
  const auto error = [&] { return error_of(model, certificate); };
  CHECK(error() == "");
  certificate.bound = 7.6;
  CHECK(error() == "the dual values of a leaf do not exclude a plan below the bound");
  certificate.bound = 7.4;
  leaf.whole_multipliers[1].load = 0.9;
  CHECK(error() == "a rank can hold a pattern of more value than a leaf claims");
  leaf.whole_multipliers[1].load = -1;
  CHECK(error() == "a leaf has prices of whole ranks that are not those of its rank classes");
  leaf.whole_multipliers.resize(1);
  CHECK(error() == "a leaf has prices of whole ranks that are not those of its rank classes");
  leaf.whole_multipliers.clear();
  CHECK(error() == "a rank can hold a pattern of more value than a leaf claims");
}

TEST_CASE("uniform tree: whole ranks have a price where no interval is divided") {
  const BoundModel model = two_hosts();
  const BoundParameters parameters;
  CapacitySplitTree tree(model.choices, parameters);
  REQUIRE(proves(tree, 7.4));
  const BoundCertificate certificate = certificate_of(tree, 7.4);
  CHECK(certificate.nodes.front().is_leaf);
  CHECK(error_of(model, certificate) == "");
}

}  // namespace shardwright::uniform_tree_test
