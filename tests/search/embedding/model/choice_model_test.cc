// The choices of best mode: options that the rules allow, without those that another one replaces.
#include "search/embedding/model/choice_model.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::choice_model_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// Returns the ids of the options that remain on 2 hosts of 2 ranks. Options 0 to 5 are of t0:
// table-wise, column-wise in 3, on one host in 2, on one whole host, on both whole hosts, on all
// ranks. Options 6 and 7 are of t1: table-wise, on all ranks. None replaces another.
template <class Change>
std::vector<std::uint32_t> left(const Change& change) {
  ProblemSpec spec = problem_spec(2, 4, 2);
  change(spec);
  const OptionPool pool(SpaceBuilder(std::move(spec))
                            .add(0, kTableWise, 1, 90, 10)
                            .add(0, kColumnWise, 3, 80, 20)
                            .add(0, kTableColumnWise, 2, 70, 30)
                            .add(0, kTableRowWise, 2, 60, 40)
                            .add(0, kGridShard, 4, 50, 50)
                            .add(0, kRowWise, 4, 40, 60)
                            .add(1, kTableWise, 1, 90, 10)
                            .add(1, kRowWise, 4, 40, 60)
                            .take());
  const ChoiceModel model(pool, pool.problem().topology());
  CHECK(model.status().ok());
  std::vector<std::uint32_t> ids;
  for (const Choice& choice : model.choices())
    ids.push_back(choice.option.value());
  return ids;
}

using Ids = std::vector<std::uint32_t>;

template <class Change>
Ids left_by_table(const Change& change) {
  return left([&](ProblemSpec& spec) { change(spec.tables[0].placement); });
}

}  // namespace

TEST_CASE("choice model: without rules every option that no other replaces is a choice") {
  CHECK(left([](ProblemSpec&) {}) == Ids{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("choice model: options whose shards find no allowed ranks are left out") {
  CHECK(left_by_table([](TablePlacement& p) { p.max_shards = 2; }) == Ids{0, 2, 3, 6, 7});
  CHECK(left_by_table([](TablePlacement& p) { p.ranks = {1, 2, 3}; }) == Ids{0, 1, 2, 3, 4, 6, 7});
  CHECK(left_by_table([](TablePlacement& p) { p.ranks = {1, 2}; }) == Ids{0, 1, 2, 6, 7});
  CHECK(left_by_table([](TablePlacement& p) { p.hosts = {1}; }) == Ids{0, 1, 2, 3, 4, 6, 7});
  CHECK(left_by_table([](TablePlacement& p) { p.distinct_ranks = true; }) ==
        Ids{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(left_by_table([](TablePlacement& p) {
          p.distinct_ranks = true;
          p.ranks = {1, 2};
        }) == Ids{0, 6, 7});
  CHECK(left_by_table([](TablePlacement& p) {
          p.shard_ranks = {{0, {0}}, {1, {3}}};
        }) == Ids{0, 1, 6, 7});
  CHECK(left_by_table([](TablePlacement& p) {
          p.distinct_ranks = true;
          p.shard_ranks = {{0, {0}}, {2, {0}}};
        }) == Ids{0, 2, 3, 6, 7});
  CHECK(left_by_table([](TablePlacement& p) {
          p.hosts = {1};
          p.shard_ranks = {{0, {3}}};
        }) == Ids{0, 1, 2, 6, 7});
}

TEST_CASE("choice model: tables kept together keep only options that can meet") {
  const auto group = [](GroupScope on) {
    return [on](ProblemSpec& spec) { spec.keep_together = {{{"t0", "t1"}, on}}; };
  };
  CHECK(left(group(GroupScope::kRank)) == Ids{0, 1, 2, 6});
  CHECK(left(group(GroupScope::kHost)) == Ids{0, 1, 2, 3, 4, 6});
  // t1 can meet t0 only on rank 1. Options of t0 on whole hosts would need rank 0, too, which t0
  // may not use.
  CHECK(left([](ProblemSpec& spec) {
          spec.tables[1].placement.hosts = {0};
          spec.tables[0].placement.ranks = {1, 2, 3};
          spec.keep_together = {{{"t0", "t1"}, GroupScope::kHost}};
        }) == Ids{0, 1, 2, 6});
}

TEST_CASE("choice model: tables kept apart need ranks and hosts of their own") {
  const auto group = [](GroupScope on) {
    return [on](ProblemSpec& spec) { spec.keep_apart = {{{"t0", "t1"}, on}}; };
  };
  CHECK(left(group(GroupScope::kRank)) == Ids{0, 1, 2, 3, 4, 6});
  CHECK(left(group(GroupScope::kHost)) == Ids{0, 1, 2, 3, 4, 6});
  CHECK(left([](ProblemSpec& spec) {
          spec.keep_apart = {{{"t0", "t1"}, GroupScope::kHost}};
          spec.tables[0].placement.distinct_ranks = true;
        }) == Ids{0, 2, 3, 6});
}

TEST_CASE(
    "choice model: the error for a table without a choice names the rule that removed the last "
    "one") {
  const auto only_row_wise = [](const auto& change) {
    ProblemSpec spec = problem_spec(1, 4, 2);
    change(spec);
    const OptionPool pool(SpaceBuilder(std::move(spec)).add(0, kRowWise, 4, 1, 1).take());
    return ChoiceModel(pool, pool.problem().topology()).status();
  };
  CHECK(only_row_wise([](ProblemSpec&) {}).ok());
  const auto refused = [&](const auto& change, const std::string& where) {
    const Status refusal = only_row_wise(change);
    REQUIRE_FALSE(refusal.ok());
    CHECK(refusal.error().code == ErrorCode::kInfeasible);
    CHECK(refusal.error().where == where);
    CHECK(refusal.error().message.find("\"t0\"") != std::string::npos);
  };
  refused([](ProblemSpec& spec) { spec.tables[0].placement.max_shards = 3; },
          "/constraints/t0/max_shards");
  refused([](ProblemSpec& spec) { spec.tables[0].placement.ranks = {0, 1, 2}; }, "/constraints/t0");
  refused(
      [](ProblemSpec& spec) {
        spec.keep_together = {{{"t0"}, GroupScope::kHost}};
      },
      "/keep_together/0");
}

TEST_CASE(
    "choice model: a single shard replaces other options unless shards have their own ranks") {
  const auto choices = [](const auto& change) {
    ProblemSpec spec = problem_spec(1, 4, 2);
    change(spec.tables[0].placement);
    const OptionPool pool(SpaceBuilder(std::move(spec))
                              .add(0, kTableWise, 1, 5, 10)
                              .add(0, kColumnWise, 2, 5, 10)
                              .add(0, kTableColumnWise, 2, 6, 10)
                              .take());
    return ChoiceModel(pool, pool.problem().topology()).choices().size();
  };
  CHECK(choices([](TablePlacement&) {}) == 1);
  CHECK(choices([](TablePlacement& p) { p.ranks = {2}; }) == 1);
  CHECK(choices([](TablePlacement& p) { p.shard_ranks = {{0, {2}}}; }) == 3);
}

TEST_CASE("choice model: measured rank times scale loads in time, not in bytes") {
  for (const PerfModel model : {PerfModel::kPerf, PerfModel::kStorage}) {
    ProblemSpec spec = problem_spec(1, 2, 2);
    spec.calibration.rank_time = {1, 2.5};
    spec.perf_model = model;
    const OptionPool pool(SpaceBuilder(std::move(spec)).add(0, kTableWise, 1, 5, 10).take());
    const ChoiceModel choices(pool, pool.problem().topology());
    CHECK(choices.time_scale().empty() == (model == PerfModel::kStorage));
    CHECK(choices.time_scale(0) == 1);
    CHECK(choices.time_scale(1) == (model == PerfModel::kStorage ? 1 : 2.5));
  }
}

TEST_CASE("choice model: an interrupted budget is a status") {
  const OptionPool pool(SpaceBuilder(problem_spec(1, 2, 2)).add(0, kTableWise, 1, 5, 10).take());
  std::stop_source stop;
  stop.request_stop();
  const Budget budget({}, {}, stop.get_token());
  const ChoiceModel model(pool, pool.problem().topology(), budget);
  REQUIRE_FALSE(model.status().ok());
  CHECK(model.status().error().code == ErrorCode::kStopped);
}

}  // namespace shardwright::choice_model_test
