// Sharding groups and pods: what they cost, and how best mode chooses a group size and proves a
// bound.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/embedding/identity.h"
#include "runtime/embedding/layout_problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/embedding/sweep.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/verify_file.h"
#include "tests/support/embedding/planned_files.h"

namespace shardwright::layouts_test {

namespace {

using namespace shardwright;
using namespace shardwright::test_support;
using embedding::Problem;
using embedding::SearchSpace;
using embedding::ShardingOption;
using embedding::ShardingType;
using nlohmann::json;

// Five tables on two hosts of four ranks.
json problem_text(const json& groups) {
  json problem = {{"reservation", {{"type", "none"}}},
                  {"batch_size", 4096},
                  {"topology", {{"world_size", 8}, {"local_world_size", 4}, {"hbm_cap", 1 << 30}}}};
  const std::vector<std::int64_t> rows = {2'000'000, 500'000, 90'000, 4000, 700};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    problem["tables"].push_back({{"name", "t" + std::to_string(i)},
                                 {"num_embeddings", rows[i]},
                                 {"embedding_dim", 64},
                                 {"pooling_factor", 3 + 7 * i}});
  }
  if (!groups.is_null()) problem["topology"]["sharding_groups"] = groups;
  return problem;
}

EmbeddingPlanResult best_of(const std::shared_ptr<const Problem>& problem,
                            std::uint64_t work = 20'000'000) {
  return planned(problem, brief(PlanMode::kBest, work));
}

std::vector<std::int64_t> sizes_of(const EmbeddingPlanResult& result) {
  std::vector<std::int64_t> sizes = {result.problem->topology().world_size()};
  for (const EmbeddingPlanResult& other : result.other_layouts)
    sizes.push_back(other.problem->topology().world_size());
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// Returns the cost of the first shard of an option of table t1.
embedding::Perf first_perf(const json& text, ShardingType type) {
  const auto space = enumerate_embedding(problem_of(text));
  REQUIRE_MESSAGE(space.ok(), space.error().to_string());
  for (const ShardingOption& option : (*space)->options()) {
    if (option.table.index() == 1 && option.sharding_type == type) return option.costs[0].perf;
  }
  FAIL("no such option");
  return {};
}

}  // namespace

TEST_CASE("sharding groups: averaging replicas costs a ring all-reduce, spread over the interval") {
  // A group of four ranks has two on each host, and its replicas are on neighbouring ranks. No
  // optimizer is set, so it keeps no state.
  const auto sync = [](std::int64_t interval) {
    const json groups = {{"size", 4}, {"sync_interval", interval}};
    return first_perf(problem_text(groups), ShardingType::kTableWise).bwd_comms.value();
  };
  const double bytes = 500'000.0 * 64 * 4;
  const double bandwidth = 600.0 * 1024 * 1024 * 1024 / 1000;
  CHECK(sync(1) - sync(1'000'000'000) == doctest::Approx(bytes / bandwidth).epsilon(1e-6));
  CHECK(sync(10) - sync(1'000'000'000) == doctest::Approx(bytes / bandwidth / 10).epsilon(1e-6));
}

TEST_CASE(
    "sharding groups: far replicas are averaged over the slow links, a row-wise part of them") {
  const auto sync = [](ShardingType type, std::int64_t interval) {
    const json groups = {
        {"size", 2}, {"sync_interval", interval}, {"use_inter_host_allreduce", true}};
    return first_perf(problem_text(groups), type).bwd_comms.value();
  };
  // Four replicas send 2 x 3/4 of the bytes. A row-wise shard has half of the rows.
  const double sent = 500'000.0 * 64 * 4 * 1.5 / (12.5 * 1024 * 1024 * 1024 / 1000);
  constexpr auto kWhole = ShardingType::kTableWise;
  constexpr auto kRows = ShardingType::kRowWise;
  CHECK(sync(kWhole, 1) - sync(kWhole, 1'000'000'000) == doctest::Approx(sent).epsilon(1e-6));
  CHECK(sync(kRows, 1) - sync(kRows, 1'000'000'000) == doctest::Approx(sent / 2).epsilon(1e-6));
}

TEST_CASE(
    "sharding groups: the hosts of a pod average over the links that the release gives them") {
  // A group has one rank, so the replicas are on all ranks of the pod, which has both hosts.
  const auto sync = [](const std::string& release, std::int64_t interval) {
    json text = problem_text({{"size", 1}, {"sync_interval", interval}});
    text["topology"]["pod_size"] = 2;
    text["torchrec"] = release;
    return first_perf(text, ShardingType::kTableWise).bwd_comms.value();
  };
  const auto cost = [&](const std::string& release) {
    return sync(release, 1) - sync(release, 1'000'000'000);
  };
  const double sent = 500'000.0 * 64 * 4 * 2 * 7 / 8;
  const double gib = 1024.0 * 1024 * 1024 / 1000;
  CHECK(cost("1.9.2") == doctest::Approx(sent / (12.5 * gib)).epsilon(1e-6));
  CHECK(cost("a48cef79") == doctest::Approx(sent / (600 * gib)).epsilon(1e-6));
}

TEST_CASE("sharding groups: optimizer state is averaged, too, unless the problem says otherwise") {
  json text = problem_text({{"size", 4}});
  json& groups = text["topology"]["sharding_groups"];
  text["tables"][1]["optimizer"] = "adam";
  const auto cost = [&](bool with_state, std::int64_t interval) {
    groups["include_optimizer_state"] = with_state;
    groups["sync_interval"] = interval;
    return first_perf(text, ShardingType::kTableWise).bwd_comms.value();
  };
  const double never = cost(true, 1'000'000'000);
  CHECK(cost(true, 1) - never == doctest::Approx(3 * (cost(false, 1) - never)).epsilon(1e-6));
}

TEST_CASE("sharding groups: data parallel tables cost what they cost on the whole machine") {
  const auto whole = first_perf(problem_text(nullptr), ShardingType::kDataParallel);
  const auto group = first_perf(problem_text({{"size", 2}}), ShardingType::kDataParallel);
  CHECK(whole.bwd_comms == group.bwd_comms);
}

TEST_CASE("sharding groups: one group of all ranks is the problem without groups") {
  const EmbeddingPlanResult without = best_of(problem_of(problem_text(nullptr)));
  const EmbeddingPlanResult one = best_of(problem_of(problem_text({{"size", 8}})));
  CHECK(*without.best_rating == *one.best_rating);
  CHECK(one.other_layouts.empty());
  CHECK(file_of(one)["sharding_group_size"] == 8);
  CHECK_FALSE(file_of(without).contains("sharding_group_size"));
}

TEST_CASE("sharding groups: best mode chooses the best size, and its bound is one for all sizes") {
  const auto problem = problem_of(problem_text({{"sync_interval", 20}}));
  const EmbeddingPlanResult chosen = best_of(problem, 100'000'000);
  REQUIRE(chosen.plan.has_value());
  CHECK(sizes_of(chosen) == std::vector<std::int64_t>{1, 2, 4, 8});
  REQUIRE(chosen.lower_bound.has_value());
  double best = *chosen.best_rating * 2;
  for (const std::int64_t size : sizes_of(chosen)) {
    const auto fixed = layout_problem(*problem, {size, 1});
    REQUIRE(fixed.ok());
    const EmbeddingPlanResult alone = best_of(*fixed);
    REQUIRE(alone.best_rating.has_value());
    best = std::min(best, *alone.best_rating);
    CHECK(*chosen.lower_bound <= *alone.best_rating);
  }
  CHECK(*chosen.best_rating == doctest::Approx(best).epsilon(1e-3));
  CHECK(gap(*chosen.best_rating, *chosen.lower_bound) <= 0.01);
  CHECK(violation(problem, file_of(chosen)) == "");
}

TEST_CASE("sharding groups: the same answer for any number of threads") {
  const auto problem = problem_of(problem_text({{"sync_interval", 20}}));
  PlanOptions options;
  options.work_limit = 5'000'000;
  options.threads = 1;
  const auto alone = plan_embedding(problem, options);
  options.threads = 4;
  const auto together = plan_embedding(problem, options);
  REQUIRE((alone.ok() && together.ok()));
  const auto comparable = [](const EmbeddingPlanResult& result) {
    json file = file_of(result);
    std::vector<json*> files = {&file};
    for (json& other : file["other_layouts"])
      files.push_back(&other);
    for (json* own : files) {
      own->erase("threads");
      own->erase("timing");
    }
    return file;
  };
  CHECK(comparable(*alone) == comparable(*together));
}

TEST_CASE("sharding groups: a size that has too little memory is excluded with a proof") {
  json text = problem_text({{"sync_interval", 1000}});
  text["topology"]["hbm_cap"] = text["topology"]["ddr_cap"] = 400'000'000;
  const auto problem = problem_of(text);
  const EmbeddingPlanResult result = best_of(problem);
  REQUIRE(result.plan.has_value());
  REQUIRE(result.lower_bound.has_value());
  const EmbeddingPlanResult& one = result.other_layouts.front();
  CHECK(one.problem->topology().world_size() == 1);
  REQUIRE(one.failure.has_value());
  CHECK(one.failure->proof.has_value());
  const json file = file_of(result);
  CHECK(violation(problem, file) == "");
  // Without the proof for this size, no bound holds for all sizes.
  json changed = file;
  changed["other_layouts"][0]["error"]["proof"] = nullptr;
  CHECK(violation(problem, changed) != "");
  text["topology"]["hbm_cap"] = text["topology"]["ddr_cap"] = 1 << 20;
  const auto none = problem_of(text);
  const EmbeddingPlanResult nothing = best_of(none);
  CHECK_FALSE(nothing.plan.has_value());
  REQUIRE(nothing.failure.has_value());
  CHECK(nothing.problem->topology().world_size() == 8);
  CHECK(violation(none, file_of(nothing)) == "");
}

TEST_CASE("sharding groups: a file must speak of all sizes, and none may be better than its plan") {
  const auto problem = problem_of(problem_text({{"sync_interval", 20}}));
  const json file = file_of(best_of(problem));
  REQUIRE(violation(problem, file) == "");
  json changed = file;
  changed["other_layouts"].erase(1);
  CHECK(violation(problem, changed) == "/lower_bound");
  changed = file;
  changed["other_layouts"][1] = changed["other_layouts"][0];
  CHECK(violation(problem, changed) == "/other_layouts/1");
  // The file claims the plan of another size as its answer.
  changed = file["other_layouts"][0];
  changed["other_layouts"] = file["other_layouts"];
  changed["other_layouts"][0] = file;
  changed["other_layouts"][0].erase("other_layouts");
  CHECK(violation(problem, changed) != "");
  // A file without other layouts answers only the problem with one group size.
  changed = file;
  changed.erase("other_layouts");
  CHECK(violation(problem, changed) == "/lower_bound");
  const auto fixed = layout_problem(*problem, {file["sharding_group_size"].get<std::int64_t>(), 1});
  REQUIRE(fixed.ok());
  CHECK(violation(*fixed, changed) == "");
}

TEST_CASE("sharding groups: replan keeps the size of the plan in use") {
  const auto problem = problem_of(problem_text({{"sync_interval", 20}}));
  const EmbeddingPlanResult first = best_of(problem);
  const auto document = read_plan(file_of(first).dump());
  REQUIRE(document.ok());
  const auto fixed = problem_of_plan(problem, *document);
  REQUIRE(fixed.ok());
  ReplanOptions options;
  options.plan.work_limit = 5'000'000;
  options.migration_weight = 1e6;
  const auto again = replan_embedding(*fixed, *document->plan, options);
  REQUIRE_MESSAGE(again.ok(), again.error().to_string());
  CHECK(plan_hash(**fixed, *again->plan) == plan_hash(*first.problem, *first.plan));
}

TEST_CASE("sharding groups: sweep chooses a size for every machine") {
  embedding::ProblemSpec spec = problem_of(problem_text({{"sync_interval", 20}}))->spec();
  embedding::SweepGrid grid;
  grid.ranks = {4, 8};
  grid.hbm_bytes = {std::int64_t{1} << 28, std::int64_t{1} << 30};
  PlanOptions options;
  options.work_limit = 20'000'000;
  const auto sweep = sweep_embedding(spec, grid, options);
  REQUIRE_MESSAGE(sweep.ok(), sweep.error().to_string());
  REQUIRE(sweep->points.size() == 4);
  for (const SweepPoint& point : sweep->points) {
    REQUIRE(point.fits());
    REQUIRE(point.sharding_group_size.has_value());
    CHECK(point.ranks % *point.sharding_group_size == 0);
    REQUIRE(point.lower_bound.has_value());
    CHECK(*point.lower_bound <= *point.rating);
  }
}

TEST_CASE("sharding groups: all but best mode's plan needs one size") {
  const auto problem = problem_of(problem_text({{"size", {2, 4}}}));
  const std::string place = "/topology";
  PlanOptions compat;
  compat.mode = PlanMode::kCompat;
  CHECK(plan_embedding(problem, compat).error().where == place);
  CHECK(enumerate_embedding(problem).error().where == place);
  CHECK(reserve_embedding(*problem).error().where == place);
  CHECK(sizes_of(best_of(problem)) == std::vector<std::int64_t>{2, 4});
  const auto fixed = problem_of(problem_text({{"size", 4}}));
  const auto plan = plan_embedding(fixed, compat);
  REQUIRE(plan.ok());
  CHECK(plan->plan.has_value());
  // Options for one group size do not fit another size.
  const auto space = enumerate_embedding(fixed);
  REQUIRE(space.ok());
  CHECK(plan_embedding(problem, {}, *space).error().where == place);
}

TEST_CASE("pods: a pod of hosts is planned like one host where its release knows no pods") {
  json text = problem_text(nullptr);
  text["torchrec"] = "a48cef79";
  text["topology"]["pod_size"] = 2;
  const EmbeddingPlanResult pods = best_of(problem_of(text));
  json one = problem_text(nullptr);
  one["torchrec"] = "a48cef79";
  one["topology"]["local_world_size"] = 8;
  const EmbeddingPlanResult host = best_of(problem_of(one));
  CHECK(*pods.best_rating == *host.best_rating);
  CHECK(file_of(pods)["pod_size"] == 2);
}

TEST_CASE("pods: best mode chooses their size together with that of the groups") {
  json text = problem_text({{"sync_interval", 20}});
  text["topology"]["pod_size"] = {1, 2};
  const auto problem = problem_of(text);
  const EmbeddingPlanResult chosen = best_of(problem, 100'000'000);
  CHECK(chosen.other_layouts.size() + 1 == problem->topology().layouts().size());
  for (const EmbeddingPlanResult& other : chosen.other_layouts)
    CHECK(*chosen.best_rating <= *other.best_rating);
  const json file = file_of(chosen);
  CHECK(violation(problem, file) == "");
  json changed = file;
  changed["other_layouts"][0]["pod_size"] = changed["other_layouts"][0]["pod_size"] == 1 ? 2 : 1;
  CHECK(violation(problem, changed) != "");
}

TEST_CASE("sharding groups: they are part of the problem's identity") {
  const auto hash = [](const json& groups) {
    return identify(*problem_of(problem_text(groups))).hash;
  };
  CHECK(hash({{"size", 4}}) != hash({{"size", 2}}));
  CHECK(hash({{"size", 4}}) != hash({{"size", 4}, {"sync_interval", 2}}));
  CHECK(hash({{"size", 4}}) != hash({{"size", 4}, {"include_optimizer_state", false}}));
  CHECK(hash({{"size", 4}}) != hash({{"size", 4}, {"use_inter_host_allreduce", true}}));
  CHECK(hash({{"size", {4}}}) == hash({{"size", 4}}));
  json pods = problem_text({{"size", 4}});
  pods["topology"]["pod_size"] = 2;
  CHECK(identify(*problem_of(pods)).hash != hash({{"size", 4}}));
}

}  // namespace shardwright::layouts_test
