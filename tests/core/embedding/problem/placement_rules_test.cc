// Placement rules: answers to queries, constraints that forbid nothing, refused constraints.
#include "core/embedding/problem/placement_rules.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::placement_rules_test {

namespace {

using namespace shardwright::embedding;
using shardwright::ErrorCode;
using shardwright::test_support::problem_spec;

// Makes a problem of tables t0, t1, t2 on 3 hosts of 2 ranks, after `change` of its description.
template <class Change>
shardwright::Result<Problem> made(const Change& change) {
  ProblemSpec spec = problem_spec(3, 6, 2);
  change(spec);
  return Problem::make(std::move(spec));
}

template <class Change>
std::string refused(const Change& change) {
  const auto problem = made(change);
  if (problem.ok()) return "accepted";
  CHECK(problem.error().code == ErrorCode::kInvalidInput);
  CHECK_FALSE(problem.error().message.empty());
  return problem.error().where;
}

template <class Change>
std::string refused_table(const Change& change) {
  return refused([&](ProblemSpec& spec) { change(spec.tables[1].placement); });
}

std::vector<Rank> ranks(const RankSet* set) {
  if (set == nullptr) return {};
  return {set->ranks().begin(), set->ranks().end()};
}

}  // namespace

TEST_CASE("placement rules: a problem without constraints has none") {
  const Problem problem = *made([](ProblemSpec&) {});
  const PlacementRules& rules = problem.rules();
  CHECK_FALSE(rules.any());
  CHECK_FALSE(rules.constrains(TableId(0)));
  CHECK(rules.allowed(TableId(0), 5) == nullptr);
  CHECK(rules.same_for_all_shards(TableId(0)));
  CHECK(rules.max_shards(TableId(0)) == PlacementRules::kAnyNumber);
  CHECK_FALSE(rules.distinct_ranks(TableId(0)));
  CHECK(rules.groups().empty());
  CHECK(rules.groups_of(TableId(0)).empty());
  CHECK(rules.first_place().empty());
}

TEST_CASE("placement rules: ranks, hosts and ranks of a shard are intersected") {
  const Problem problem = *made([](ProblemSpec& spec) {
    TablePlacement& placement = spec.tables[1].placement;
    placement.ranks = {5, 1, 2, 3, 1};
    placement.hosts = {1, 2};
    placement.shard_ranks = {{3, {0, 2}}, {1, {5, 3}}};
    placement.max_shards = 4;
    placement.distinct_ranks = true;
  });
  const PlacementRules& rules = problem.rules();
  CHECK(rules.any());
  CHECK(rules.first_place() == "/constraints/t1/ranks");
  CHECK_FALSE(rules.constrains(TableId(0)));
  REQUIRE(rules.constrains(TableId(1)));
  CHECK(rules.allowed(TableId(0), 0) == nullptr);
  CHECK(ranks(rules.allowed(TableId(1), 0)) == std::vector<Rank>{2, 3, 5});
  CHECK(ranks(rules.allowed(TableId(1), 1)) == std::vector<Rank>{3, 5});
  CHECK(ranks(rules.allowed(TableId(1), 3)) == std::vector<Rank>{2});
  CHECK(rules.allowed(TableId(1), 0) == rules.allowed(TableId(1), 2));
  CHECK_FALSE(rules.same_for_all_shards(TableId(1)));
  CHECK(rules.max_shards(TableId(1)) == 4);
  CHECK(rules.distinct_ranks(TableId(1)));
  const RankSet& set = *rules.allowed(TableId(1), 0);
  CHECK(set.contains(5));
  CHECK_FALSE(set.contains(4));
  CHECK(set.count_in(2, 2) == 2);
  CHECK(set.count_in(0, 2) == 0);
}

TEST_CASE("placement rules: a group contains every table of the names it lists, in all modules") {
  const Problem problem = *made([](ProblemSpec& spec) {
    spec.tables[2].name = "t0";
    spec.tables[2].module = "other";
    spec.keep_together = {{{"t1"}, GroupScope::kRank}};
    spec.keep_apart = {{{"t1"}, GroupScope::kRank}, {{"t0"}, GroupScope::kHost}};
  });
  const PlacementRules& rules = problem.rules();
  REQUIRE(rules.groups().size() == 2);  // keep_apart of one table makes no group
  CHECK(rules.groups()[0].together);
  CHECK(rules.groups()[0].tables == std::vector<TableId>{TableId(1)});
  CHECK(rules.groups()[1].place == "/keep_apart/1");
  CHECK(rules.groups()[1].on == GroupScope::kHost);
  CHECK(rules.groups()[1].tables == std::vector<TableId>{TableId(0), TableId(2)});
  REQUIRE(rules.groups_of(TableId(2)).size() == 1);
  CHECK(rules.groups_of(TableId(2))[0] == 1);
}

TEST_CASE("placement rules: constraints that forbid nothing make no rule") {
  CHECK_FALSE(made([](ProblemSpec& spec) {
                spec.tables[0].placement.ranks = {0, 1, 2, 3, 4, 5};
                spec.tables[1].placement.hosts = {2, 1, 0};
                spec.tables[2].placement.shard_ranks = {{0, {5, 4, 3, 2, 1, 0}}};
                spec.keep_apart = {{{"t0"}, GroupScope::kHost}};
              })
                  ->rules()
                  .any());
  CHECK_FALSE(made([](ProblemSpec& spec) {
                spec.topology.local_world_size = 6;
                spec.keep_together = {{{"t0", "t1"}, GroupScope::kHost}};
              })
                  ->rules()
                  .any());
}

TEST_CASE(
    "placement rules: ranks, hosts, shards and tables that do not exist are refused with their "
    "place") {
  const std::string t1 = "/constraints/t1/";
  CHECK(refused_table([](TablePlacement& p) { p.ranks = {0, 6}; }) == t1 + "ranks/1");
  CHECK(refused_table([](TablePlacement& p) { p.ranks = {-1}; }) == t1 + "ranks/0");
  CHECK(refused_table([](TablePlacement& p) { p.ranks.emplace(); }) == t1 + "ranks");
  CHECK(refused_table([](TablePlacement& p) { p.hosts = {3}; }) == t1 + "hosts/0");
  CHECK(refused_table([](TablePlacement& p) {
          p.shard_ranks = {{2, {9}}};
        }) == t1 + "shard_ranks/2/0");
  CHECK(refused_table([](TablePlacement& p) {
          p.shard_ranks = {{2, {}}};
        }) == t1 + "shard_ranks/2");
  CHECK(refused_table([](TablePlacement& p) {
          p.shard_ranks = {{-2, {0}}};
        }) == t1 + "shard_ranks/-2");
  CHECK(refused_table([](TablePlacement& p) {
          p.shard_ranks = {{2, {0}}, {2, {1}}};
        }) == t1 + "shard_ranks/2");
  CHECK(refused_table([](TablePlacement& p) { p.max_shards = 0; }) == t1 + "max_shards");
  CHECK(refused([](ProblemSpec& spec) {
          spec.keep_apart = {{{"t0", "no"}, GroupScope::kRank}};
        }) == "/keep_apart/0/tables/1");
  CHECK(refused([](ProblemSpec& spec) {
          spec.keep_apart = {{{"t0", "t0"}, GroupScope::kRank}};
        }) == "/keep_apart/0/tables/1");
  CHECK(refused([](ProblemSpec& spec) { spec.keep_together.resize(1); }) == "/keep_together/0");
  // Ranks that do not fill a host have no host number, and no group can be there.
  CHECK(refused([](ProblemSpec& spec) {
          --spec.topology.world_size;
          spec.tables[1].placement.hosts = {2};
        }) == t1 + "hosts/0");
  CHECK(refused([](ProblemSpec& spec) {
          --spec.topology.world_size;
          spec.keep_apart = {{{"t0", "t1"}, GroupScope::kRank}};
        }) == "/keep_apart/0");
}

TEST_CASE("placement rules: contradictions are refused before any search") {
  const std::string t1 = "/constraints/t1/";
  CHECK(refused_table([](TablePlacement& p) {
          p.ranks = {0, 1};
          p.hosts = {1, 2};
        }) == t1 + "hosts");
  CHECK(refused_table([](TablePlacement& p) {
          p.ranks = {0, 1};
          p.shard_ranks = {{7, {2}}};
        }) == t1 + "shard_ranks/7");
  const auto groups = [](TableGroup together, TableGroup apart) {
    return refused([&](ProblemSpec& spec) {
      spec.keep_together = {together, {{"t1", "t2"}, together.on}};
      spec.keep_apart = {apart};
    });
  };
  using enum GroupScope;
  CHECK(groups({{"t0", "t1"}, kRank}, {{"t0", "t2"}, kRank}) == "/keep_apart/0");
  CHECK(groups({{"t0", "t1"}, kHost}, {{"t2", "t0"}, kHost}) == "/keep_apart/0");
  CHECK(groups({{"t0", "t1"}, kHost}, {{"t2", "t0"}, kRank}) == "accepted");
  CHECK(refused([](ProblemSpec& spec) {
          spec.topology.local_world_size = 3;
          spec.keep_apart = {{{"t0", "t1", "t2"}, kHost}};
        }) == "/keep_apart/0");
  const auto together = [](GroupScope on, std::int64_t rank) {
    return refused([&](ProblemSpec& spec) {
      spec.tables[0].placement.ranks = {0, 3};
      spec.tables[2].placement.shard_ranks = {{0, {rank}}};
      spec.keep_together = {{{"t0", "t2"}, on}};
    });
  };
  CHECK(together(kRank, 1) == "/keep_together/0");
  CHECK(together(kRank, 3) == "accepted");
  CHECK(together(kHost, 1) == "accepted");
  CHECK(together(kHost, 4) == "/keep_together/0");
  const auto apart = [](GroupScope on, std::int64_t rank) {
    return refused([&](ProblemSpec& spec) {
      spec.tables[0].placement.ranks = {0, 3};
      spec.tables[1].placement.ranks = {3, 0};
      spec.tables[2].placement.ranks = {0, rank};
      spec.keep_apart = {{{"t0", "t1", "t2"}, on}};
    });
  };
  CHECK(apart(kRank, 3) == "/keep_apart/0");
  CHECK(apart(kRank, 2) == "accepted");
  CHECK(apart(kHost, 2) == "/keep_apart/0");
  CHECK(apart(kHost, 4) == "accepted");
}

}  // namespace shardwright::placement_rules_test
