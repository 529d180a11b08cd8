// `replan` and `sweep` as a user runs them, on recorded problems.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace shardwright::replan_sweep_test {

namespace {

using nlohmann::json;
using shardwright::read_file;
using shardwright::write_file;
using shardwright::test_support::Command;
using shardwright::test_support::CommandOutcome;
using shardwright::test_support::contains;
using shardwright::test_support::cut_member;

const std::string kCases = "tests/golden/embedding/cases/";
const std::string kMixed = kCases + "09_mixed_default_20t_16r_2h.json.gz";
const std::string kLimit = " --work-limit 2000000 ";

json read_json(const std::string& path) { return json::parse(*read_file(path)); }

// Returns a problem of `count` small tables.
std::string tables(int count) {
  json problem = {{"topology", {{"world_size", 8}, {"local_world_size", 4}}},
                  {"tables", json::array()}};
  for (int i = 0; i < count; ++i) {
    problem["tables"].push_back({{"name", "t" + std::to_string(i)},
                                 {"num_embeddings", 1'000'000 + 100'000 * i},
                                 {"embedding_dim", 64},
                                 {"pooling_factor", 1 + i % 5}});
  }
  return problem.dump();
}

std::string lasting(std::string text) {
  cut_member(text, "threads");
  const std::size_t begin = text.find("\"timing\":");
  REQUIRE(begin != std::string::npos);
  return text.erase(begin, text.find('}', begin) - begin);
}

}  // namespace

TEST_CASE("replan: an unchanged problem moves nothing, and the answer verifies") {
  const Command run;
  const std::string plan = run.path("plan.json");
  const std::string next = run.path("next.json");
  for (const char* const name : {"09_mixed_default_20t_16r_2h", "30_custom_topology_uneven_hbm_4r",
                                 "16_sequence_and_pooled_8r", "26_offload_scaleup_10t_4r"}) {
    CAPTURE(name);
    const std::string problem = kCases + name + ".json.gz";
    REQUIRE(run("plan " + problem + kLimit + "-o " + plan).status == 0);
    REQUIRE(run("replan " + problem + " " + plan + kLimit + "-o " + next).status == 0);
    const json migration = read_json(next)["migration"];
    CHECK(migration["moves"].empty());
    CHECK(migration["moved_bytes"] == 0);
    CHECK(migration["rating_before"] == read_json(plan)["best_rating"]);
    CHECK(run("verify " + problem + " " + next + " --old-plan " + plan).status == 0);
    const CommandOutcome alone = run("verify " + problem + " " + next);
    CHECK(alone.status == 6);
    CHECK(contains(alone.out, "not verified: /migration: needs the plan"));
  }
}

TEST_CASE("replan: an added table is new, and a weight keeps the others where they are") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan -" + kLimit + "-o " + plan, "echo '" + tables(12) + "' | ").status == 0);
  const CommandOutcome heavy = run("replan - " + plan + kLimit + "--migration-weight 1e6 --json",
                                   "echo '" + tables(13) + "' | ");
  REQUIRE(heavy.status == 0);
  const json migration = json::parse(heavy.out)["migration"];
  CHECK(migration["tables_new"] == 1);
  CHECK(migration["tables_moved"] == 0);
  CHECK(migration["tables_kept"] == 12);
  CHECK(migration["moves"][0]["table"] == "t12");
  CHECK(migration["moves"][0]["from"].is_null());
  const CommandOutcome fewer =
      run("replan - " + plan + kLimit + "--json", "echo '" + tables(11) + "' | ");
  REQUIRE(fewer.status == 0);
  CHECK(json::parse(fewer.out)["migration"]["dropped"] == json({"ebc.t11"}));
}

TEST_CASE("replan: half the ranks, another batch, a report for people") {
  const Command run;
  const std::string plan = run.path("plan.json");
  const std::string next = run.path("next.json");
  REQUIRE(run("plan " + kMixed + kLimit + "-o " + plan).status == 0);
  for (const std::string change : {"--ranks 8", "--batch-size 1024", "--ranks 32"}) {
    for (const char* const weight : {"0", "0.1", "1e6"}) {
      CAPTURE(change);
      CAPTURE(weight);
      REQUIRE(run("replan " + kMixed + " " + plan + kLimit + change + " --migration-weight " +
                  weight + " -o " + next)
                  .status == 0);
      CHECK(run("verify " + kMixed + " " + next + " " + change + " --old-plan " + plan).status ==
            0);
    }
  }
  const CommandOutcome text = run("replan " + kMixed + " " + plan + kLimit + "--ranks 8");
  CHECK(contains(text.out, "What moves"));
  CHECK(contains(text.out, "before: none"));
}

TEST_CASE("replan: says what keeping everything costs, what moving gains, and how to move less") {
  const Command run;
  const std::string plan = run.path("plan.json");
  const std::string next = run.path("next.json");
  REQUIRE(run("plan " + kMixed + " --mode compat -o " + plan).status == 0);
  const std::string free_moves = " --migration-weight 0 ";
  const CommandOutcome moved =
      run("replan " + kMixed + " " + plan + kLimit + free_moves + "-o " + next);
  REQUIRE(moved.status == 0);
  const json migration = read_json(next)["migration"];
  REQUIRE(migration["moved_bytes"] > 0);
  CHECK(contains(moved.err, "; moves "));
  CHECK(contains(moved.err, " to save "));
  constexpr std::string_view kFlag = "--migration-weight says so; with ";
  const std::size_t at = moved.err.find(kFlag);
  REQUIRE(at != std::string::npos);
  const CommandOutcome text =
      run("replan " + kMixed + " " + plan + kLimit + free_moves, "COLUMNS=1000 ");
  CHECK(contains(text.out, "keeping everything rates "));
  CHECK(contains(text.out, " saves "));
  CHECK(contains(text.out, kFlag));
  // With the weight that the message names, fewer bytes move.
  const std::string weight = moved.err.substr(
      at + kFlag.size(), moved.err.find(' ', at + kFlag.size()) - at - kFlag.size());
  const CommandOutcome less =
      run("replan " + kMixed + " " + plan + kLimit + "--json --migration-weight " + weight);
  REQUIRE_MESSAGE(less.status == 0, less.err);
  CHECK(json::parse(less.out)["migration"]["moved_bytes"] < migration["moved_bytes"]);
  // If nothing moves, the message names no weight.
  const CommandOutcome again = run("replan " + kMixed + " " + next + kLimit + "-o " + plan);
  CHECK(contains(again.err, "nothing moves"));
  CHECK_FALSE(contains(again.err, "--migration-weight"));
}

TEST_CASE("replan: a large weight keeps the old plan if it fits") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kMixed + " --mode compat -o " + plan).status == 0);
  const CommandOutcome kept =
      run("replan " + kMixed + " " + plan + kLimit + "--migration-weight 1e9 --json");
  REQUIRE(kept.status == 0);
  const json answer = json::parse(kept.out);
  CHECK(answer["migration"]["moves"].empty());
  CHECK(answer["plan_ranks_sha1"] == read_json(plan)["plan_ranks_sha1"]);
  const CommandOutcome free = run("replan " + kMixed + " " + plan + kLimit + "--json");
  REQUIRE(free.status == 0);
  CHECK(json::parse(free.out)["best_rating"] <= answer["best_rating"]);
}

// The least objectives are from a MILP solver (tests/python/milp).
TEST_CASE("replan: minimises rating + weight x GiB moved, and proves it for small problems") {
  const std::map<std::string, std::map<std::string, double>> least = {
      {"5013", {{"0.001", 0.0824156494}, {"1", 0.1769372432}, {"1000", 0.7224464676}}},
      {"5069", {{"0.001", 0.0300386330}, {"1", 0.0550956875}, {"1000", 0.0560161969}}},
      {"5076", {{"0.001", 1.2107251929}, {"1", 1.5750263929}, {"1000", 365.7566469472}}},
      {"5087", {{"0.001", 0.0358199770}, {"1", 0.0367667878}, {"1000", 0.0520530233}}}};
  const Command run;
  for (const auto& [name, by_weight] : least) {
    const std::string files = "tests/golden/embedding/replan/" + name;
    for (const auto& [weight, objective] : by_weight) {
      CAPTURE(files);
      const std::string moves = "--migration-weight " + weight;
      CAPTURE(moves);
      const CommandOutcome answer = run("replan " + files + ".problem.json.gz " + files +
                                        ".old_plan.json.gz --json " + moves);
      REQUIRE(answer.status == 0);
      const json document = json::parse(answer.out);
      const json migration = document["migration"];
      const double gib = migration["moved_bytes"].get<double>() / (1 << 30);
      const double found = document["best_rating"].get<double>() + std::stod(weight) * gib;
      CHECK(found == doctest::Approx(objective).epsilon(1e-7));
      CHECK(migration["objective"].get<double>() == doctest::Approx(found).epsilon(1e-12));
      CHECK(migration["lower_bound"].get<double>() == doctest::Approx(found).epsilon(1e-7));
      CHECK(migration["lower_bound"].get<double>() <= found);
      const std::string verify = "verify " + files + ".problem.json.gz " + run.path("plan.json") +
                                 " --old-plan " + files + ".old_plan.json.gz";
      REQUIRE(write_file(run.path("plan.json"), answer.out).ok());
      CHECK(run(verify).status == 0);
      json forged = document;
      const auto raise = [](json& bound) { bound = bound.get<double>() * 1.01; };
      raise(forged["migration"]["lower_bound"]);
      if (migration.contains("certificate")) raise(forged["migration"]["certificate"]["bound"]);
      REQUIRE(write_file(run.path("plan.json"), forged.dump()).ok());
      CHECK(run(verify).status == 5);
    }
  }
}

TEST_CASE("replan: says what keeping everything rates and what the moves buy") {
  const Command run;
  const std::string files = "tests/golden/embedding/replan/5069";
  const std::string replan =
      "replan " + files + ".problem.json.gz " + files + ".old_plan.json.gz --migration-weight ";
  const CommandOutcome moved = run(replan + "0.1");
  CHECK(contains(moved.out, "keeping everything rates 0.1651 ms"));
  CHECK(contains(moved.out, "per GiB"));
  CHECK(contains(moved.out, "which is optimal"));
  const CommandOutcome free = run(replan + "0 --json");
  REQUIRE(free.status == 0);
  CHECK(json::parse(free.out)["migration"]["objective"].is_null());
}

// A table of a million columns has 7,812 shards. A linear program would take minutes.
TEST_CASE("replan: thousands of shards on few ranks end within the work limit") {
  const Command run;
  const std::string files = "tests/golden/embedding/replan/many_shards";
  const CommandOutcome outcome =
      run("replan " + files + ".problem.json.gz " + files + ".old_plan.json.gz --work-limit 3000");
  CHECK((outcome.status == 3 || outcome.status == 4));
}

// The problem has changed, but the slowest rank of the old plan still has the same load.
TEST_CASE("replan: an old rating that still holds does not make the problem the same") {
  const Command run;
  const std::string files = "tests/golden/embedding/replan/same_rating";
  const CommandOutcome outcome = run("replan --json --migration-weight 0 " + files +
                                     ".problem.json.gz " + files + ".old_plan.json.gz");
  REQUIRE(outcome.status == 0);
  const json answer = json::parse(outcome.out);
  CHECK(answer["best_rating"].get<double>() == doctest::Approx(0.723206383).epsilon(1e-8));
  CHECK_FALSE(answer["migration"]["moves"].empty());
}

TEST_CASE("replan: a grid may have more blocks than there are hosts") {
  const Command run;
  const std::string files = "tests/golden/embedding/replan/many_blocks";
  const CommandOutcome outcome = run("replan --json --migration-weight 1000 " + files +
                                     ".problem.json.gz " + files + ".old_plan.json.gz");
  CHECK(outcome.status == 0);
}

TEST_CASE("replan: invalid plans and weights are refused") {
  const Command run;
  const std::string failed = run.path("failed.json");
  REQUIRE(run("plan " + kCases + "11_nofit_insufficient_2r.json.gz -o " + failed).status == 3);
  const CommandOutcome none = run("replan " + kMixed + " " + failed);
  CHECK(none.status == 2);
  CHECK(contains(none.err, "holds no plan"));
  CHECK(run("replan " + kMixed + " " + failed + " --migration-weight -1").status == 2);
  CHECK(run("replan - -").status == 2);
}

TEST_CASE("sweep: whatever fits also fits with more memory, and threads change no byte") {
  const Command run;
  const std::string line =
      "sweep tests/golden/workloads/neuroshard_task_8gpu_00.json.gz "
      "--ranks 4,8,16 --ranks-per-host 8 --hbm 40GiB,1GiB,4GiB "
      "--batch-size 8192,65536 --work-limit 300000 --json";
  const CommandOutcome one = run(line + " --threads 1");
  REQUIRE((one.status == 0 || one.status == 3));
  CHECK(lasting(one.out) == lasting(run(line + " --threads 2").out));
  const json sweep = json::parse(one.out);
  REQUIRE(sweep["points"].size() == 18);
  CHECK(sweep["smallest_ranks"].size() == 6);
  bool any = false;
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::int64_t, json>> by_memory;
  for (const json& point : sweep["points"]) {
    by_memory[{point["ranks"], point["batch_size"]}][point["hbm"]] = point;
    any = any || point["fits"];
    if (!point["fits"]) CHECK_FALSE(point["why"].get<std::string>().empty());
  }
  CHECK((one.status == 0) == any);
  for (const auto& [machine, points] : by_memory) {
    json last;
    for (const auto& at : points) {
      const json& point = at.second;
      CAPTURE(point.dump());
      if (!last.is_null() && last["fits"]) {
        CHECK(point["fits"]);
        CHECK(point["best_rating"] <= last["best_rating"]);
      }
      last = point;
    }
  }
}

TEST_CASE("sweep: ranges, prices, and a table of values beside the report and the JSON") {
  const Command run;
  const std::string line =
      "sweep samples/data/mlperf_dlrm_dcnv2.json --ranks 8..32:x2,12..20:8 "
      "--ranks-per-host 4 --hbm 80GiB --price 2.5 --work-limit 100000";
  const std::string table = run.path("machines.csv"), file = run.path("sweep.json");
  const CommandOutcome written = run(line + " --csv " + table + " -o " + file);
  REQUIRE(written.status == 0);
  const json sweep = json::parse(*read_file(file));
  std::vector<std::int64_t> ranks;
  std::string csv = *read_file(table);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 6);
  CHECK(csv.starts_with("ranks,ranks_per_host,hbm_bytes,batch_size,"));
  for (const json& point : sweep["points"]) {
    ranks.push_back(point["ranks"]);
    const double speed = point["samples_per_second"];
    CHECK(speed ==
          doctest::Approx(1000.0 * point["ranks"].get<double>() *
                          point["batch_size"].get<double>() / point["best_rating"].get<double>()));
    CHECK(point["price_per_hour"] == 2.5 * point["ranks"].get<double>());
    CHECK(point["pareto"].is_boolean());
    CHECK(contains(csv, "\n" + std::to_string(point["ranks"].get<std::int64_t>()) + ",4,"));
  }
  CHECK(ranks == std::vector<std::int64_t>{8, 16, 32, 12, 20});
  const CommandOutcome printed = run(line + " --csv -");
  CHECK(printed.out == csv);
  CHECK(contains(run(line).out, "price/h"));
  CHECK(run(line + " --csv - --json").status == 2);
  for (const char* const wrong : {"8..x", "8..64", "8..64:0", "64..8:8", "8..64:x1", "0"}) {
    CAPTURE(wrong);
    const CommandOutcome refused =
        run("sweep samples/data/mlperf_dlrm_dcnv2.json --ranks " + std::string(wrong));
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "--ranks: "));
  }
}

TEST_CASE("sweep: a machine that there cannot be is a row") {
  const Command run;
  const std::string line =
      "sweep samples/data/mlperf_dlrm_dcnv2.json --torchrec a48cef79 "
      "--ranks-per-host 8 --work-limit 100000 --ranks ";
  const CommandOutcome some = run(line + "8,15 --json");
  CHECK(some.status == 0);
  const json points = json::parse(some.out)["points"];
  REQUIRE(points.size() == 2);
  CHECK(points[0]["fits"] == true);
  CHECK(points[1]["fits"] == false);
  CHECK(points[1]["error"]["type"] == "invalid_input");
  CHECK(points[1]["error"]["where"] == "/topology/local_world_size");
  CHECK(contains(run(line + "8,15").out, "not valid"));
  const CommandOutcome none = run(line + "15");
  CHECK(none.status == 2);
  CHECK(contains(none.err, "--ranks-per-host: must divide the number of ranks"));
}

TEST_CASE("sweep: exits 3 if no machine fits, and says why") {
  const Command run;
  const std::string problem = kCases + "11_nofit_insufficient_2r.json.gz";
  const CommandOutcome text = run("sweep " + problem + " --ranks 1,2 --hbm 1MiB,2MiB --ddr 1MiB");
  CHECK(text.status == 3);
  CHECK(contains(text.out, "What does not fit, and why"));
  CHECK(contains(text.out, "none"));
  CHECK(run("sweep " + problem + " --hbm 12").status == 2);
  CHECK(run("sweep --ranks 1,2 --hbm 1MiB,2MiB --ddr 1MiB " + problem).status == 3);
}

TEST_CASE("replan: writes the same bytes with 1 and 2 threads") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kMixed + kLimit + "-o " + plan).status == 0);
  const std::string line =
      "replan " + kMixed + " " + plan + kLimit + "--ranks 8 --migration-weight 0.05 --json";
  CHECK(lasting(run(line + " --threads 1").out) == lasting(run(line + " --threads 2").out));
}

}  // namespace shardwright::replan_sweep_test
