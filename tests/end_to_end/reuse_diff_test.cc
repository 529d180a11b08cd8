// `plan --reuse` and `diff` as a user runs them, on recorded problems.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace shardwright::reuse_diff_test {

namespace {

using nlohmann::json;
using shardwright::read_file;
using shardwright::test_support::Command;
using shardwright::test_support::CommandOutcome;
using shardwright::test_support::contains;

const std::string kProblem = "tests/golden/embedding/cases/09_mixed_default_20t_16r_2h.json.gz";
const std::string kOther = "tests/golden/embedding/cases/16_sequence_and_pooled_8r.json.gz";
const std::string kLimit = " --work-limit 200000 ";

json read_json(const std::string& path) { return json::parse(*read_file(path)); }

void write_json(const std::string& path, const json& content) {
  auto file = *shardwright::OutputFile::open(path);
  file.write(content.dump());
  REQUIRE(file.commit().ok());
}

}  // namespace

TEST_CASE("reuse: a plan of the same problem is returned at once, with its proof") {
  const Command run;
  const std::string plan = run.path("plan.json"), again = run.path("again.json");
  REQUIRE(run("plan " + kProblem + " --work-limit 5000000 -o " + plan).status == 0);
  const CommandOutcome reused = run("plan " + kProblem + " --reuse " + plan + " -o " + again);
  REQUIRE(reused.status == 0);
  CHECK(reused.err.starts_with("shardwright: wrote " + again + ": "));
  CHECK(std::count(reused.err.begin(), reused.err.end(), '\n') == 1);
  const json first = read_json(plan), second = read_json(again);
  CHECK(second["reused"] == true);
  CHECK_FALSE(first.contains("reused"));
  CHECK(second["work"]["work_steps"] == 0);
  for (const char* const key : {"plan", "plan_hash", "problem_hash", "best_rating", "lower_bound",
                                "gap", "certificate", "plan_hbm_by_rank", "mode"}) {
    CAPTURE(key);
    REQUIRE(first.contains(key));
    REQUIRE(second.contains(key));
    CHECK(second[key] == first[key]);
  }
  CHECK(run("verify " + kProblem + " " + again).status == 0);
  CHECK(contains(run("plan " + kProblem + " --reuse " + plan).out, "nothing was searched"));
}

TEST_CASE("reuse: a changed problem is planned afresh, and the warning names what changed") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kProblem + kLimit + "-o " + plan).status == 0);
  const CommandOutcome fresh =
      run("plan " + kProblem + kLimit + "--batch-size 100 --json --reuse " + plan);
  CHECK(fresh.status == 0);
  CHECK(contains(fresh.err,
                 "is not reused: it was made for another problem, which differs in "
                 "batch_size"));
  CHECK_FALSE(json::parse(fresh.out).contains("reused"));
}

TEST_CASE("reuse: a false hash is found") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kProblem + kLimit + "-o " + plan).status == 0);
  json forged = read_json(plan);
  forged["best_rating"] = forged["best_rating"].get<double>() / 2;
  write_json(plan, forged);
  const CommandOutcome fresh = run("plan " + kProblem + kLimit + "--json --reuse " + plan);
  CHECK(fresh.status == 0);
  CHECK(contains(fresh.err, "does not verify: /best_rating: the file says"));
  CHECK_FALSE(json::parse(fresh.out).contains("reused"));
}

TEST_CASE("reuse: compat mode reuses only its own plans from the same, complete search") {
  const Command run;
  const std::string best = run.path("best.json"), compat = run.path("compat.json");
  REQUIRE(run("plan " + kProblem + kLimit + "-o " + best).status == 0);
  const auto answer = [&](const std::string& problem, const std::string& plan) {
    const CommandOutcome outcome = run("plan --mode compat --json " + problem + " --reuse " + plan);
    REQUIRE(outcome.status == 0);
    const bool reused = json::parse(outcome.out).contains("reused");
    CHECK(reused == outcome.err.empty());
    return reused ? "" : outcome.err;
  };
  CHECK(contains(answer(kProblem, best), "made in best mode, and compat mode is asked for"));
  REQUIRE(run("plan --mode compat " + kProblem + " -o " + compat).status == 0);
  CHECK(answer(kProblem, compat).empty());
  json greedy = json::parse(*read_file(kProblem));
  greedy["proposers"] = {{{"type", "greedy"}}};
  const std::string other = run.path("greedy_problem.json");
  write_json(other, greedy);
  CHECK(contains(answer(other, compat), "proposers, partitioner or an order"));
  json stopped = read_json(compat);
  stopped["stopped_by"] = "work_limit";
  write_json(compat, stopped);
  CHECK(contains(answer(kProblem, compat), "stopped by the work limit"));
}

TEST_CASE("reuse: files that cannot be reused or read are refused") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kProblem + kLimit + "-o " + plan).status == 0);
  CHECK(run("plan " + kProblem + " --reuse " + run.path("absent.json")).status == 2);
  CHECK(run("plan - --reuse -", "echo | ").status == 2);
  const CommandOutcome torchrec =
      run("plan --mode compat " + kProblem +
          " --reuse tests/golden/embedding/answers/09_mixed_default_20t_16r_2h.json.gz");
  CHECK(torchrec.status == 0);
  CHECK(contains(torchrec.err, "does not say for which problem"));
}

TEST_CASE("diff: what moves between two plans of one problem") {
  const Command run;
  const std::string best = run.path("best.json"), compat = run.path("compat.json");
  REQUIRE(run("plan " + kProblem + kLimit + "-o " + best).status == 0);
  REQUIRE(run("plan --mode compat " + kProblem + " -o " + compat).status == 0);
  const CommandOutcome outcome = run("diff --json " + compat + " " + best);
  REQUIRE(outcome.status == 0);
  const json diff = json::parse(outcome.out);
  const json before = read_json(compat), after = read_json(best);
  CHECK(diff["kind"] == "plans");
  CHECK(diff["same_problem"] == true);
  CHECK(diff["rating"] == json{before["best_rating"], after["best_rating"]});
  std::int64_t moved = 0;
  for (const json& table : diff["tables"])
    moved += table["bytes"].get<std::int64_t>();
  CHECK(diff["moved_bytes"] == moved);
  CHECK(diff["tables"].size() == diff["tables_moved"]);
  CHECK(diff["tables_kept"].get<std::size_t>() + diff["tables"].size() == before["plan"].size());
  REQUIRE(diff["ranks"].size() == 16);
  CHECK(diff["ranks"][3]["hbm"] ==
        json{before["plan_hbm_by_rank"][3], after["plan_hbm_by_rank"][3]});
  // replan and diff count the same bytes for the same moves.
  const std::string next = run.path("next.json");
  REQUIRE(run("replan " + kProblem + " " + compat + kLimit + "-o " + next).status == 0);
  const json migrated = json::parse(run("diff --json " + compat + " " + next).out);
  CHECK(migrated["moved_bytes"] == read_json(next)["migration"]["moved_bytes"]);
  CHECK(migrated["tables_moved"] == read_json(next)["migration"]["tables_moved"]);
}

TEST_CASE("diff: a plan is the same as itself") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kProblem + kLimit + "-o " + plan).status == 0);
  CHECK(json::parse(run("diff --json " + plan + " " + plan).out)["same"] == true);
  CHECK(contains(run("diff " + plan + " " + plan).out, "the plans are the same"));
}

TEST_CASE("diff: kinds of change are named, and bytes follow from the cut") {
  const Command run;
  const std::string a = run.path("a.json"), b = run.path("b.json");
  const auto entry = [](const char* table, const char* type, json ranks, json layout) {
    return json{{"table", table},    {"module", "ebc"},  {"sharding_type", type},
                {"ranks", ranks},    {"layout", layout}, {"compute_kernel", "fused"},
                {"element_bits", 32}};
  };
  const json whole = {{10, 8, 0, 0, 0, 0, 1}}, halves = {{10, 4, 0, 0, 0, 4, 2}};
  write_json(
      a, {{"plan",
           {entry("stays", "table_wise", {0}, whole), entry("walks", "table_wise", {0}, whole),
            entry("splits", "table_wise", {1}, whole), entry("goes", "table_wise", {1}, whole)}}});
  json kernel = entry("stays", "table_wise", {0}, whole);
  write_json(b, {{"plan",
                  {kernel, entry("walks", "table_wise", {1}, whole),
                   entry("splits", "column_wise", {1, 0}, halves),
                   entry("comes", "column_wise", {1, 0}, halves)}}});
  const json diff = json::parse(run("diff --json " + a + " " + b).out);
  CHECK(diff["same"] == false);
  CHECK(diff["same_problem"].is_null());
  CHECK(diff["tables_kept"] == 1);
  CHECK(diff["tables_moved"] == 2);
  CHECK(diff["tables_added"] == 1);
  CHECK(diff["tables_removed"] == 1);
  CHECK(diff["moved_bytes"] == 10 * 8 * 4 + 10 * 4 * 4);
  CHECK(diff["placed_bytes"] == 10 * 8 * 4);
  REQUIRE(diff["tables"].size() == 4);
  CHECK(diff["tables"][0]["what"] == "ranks");
  CHECK(diff["tables"][1]["what"] == "sharding type, number of shards and ranks");
  CHECK(diff["tables"][1]["bytes"] == 10 * 4 * 4);
  CHECK(diff["tables"][2]["what"] == "added");
  CHECK(diff["tables"][3]["what"] == "removed");
  CHECK(diff["tables"][3]["to"].is_null());
  // If a file lacks the layout of its tables, the bytes are unknown.
  json vague = read_json(b);
  vague["plan"][1].erase("layout");
  write_json(b, vague);
  CHECK(json::parse(run("diff --json " + a + " " + b).out)["moved_bytes"].is_null());
  CHECK(contains(run("diff " + a + " " + b).out, "bytes unknown"));
}

TEST_CASE("diff: two problems differ in tables and values") {
  const Command run;
  json problem = {{"topology", {{"world_size", 4}}},
                  {"tables",
                   {{{"name", "a"}, {"num_embeddings", 10}, {"embedding_dim", 8}},
                    {{"name", "b"}, {"num_embeddings", 10}, {"embedding_dim", 8}}}}};
  const std::string a = run.path("a.json"), b = run.path("b.json");
  write_json(a, problem);
  problem["name"] = "renamed";
  write_json(b, problem);
  CHECK(json::parse(run("diff --json " + a + " " + b).out)["same"] == true);
  problem["tables"][1]["name"] = "c";
  problem["tables"][0]["num_embeddings"] = 11;
  problem["constraints"]["a"]["ranks"] = {1, 0};
  problem["constraints"]["c"]["ranks"] = {1, 0};
  problem["topology"]["hbm_cap"] = 1000;
  problem["proposers"] = {{{"type", "greedy"}}};
  write_json(b, problem);
  const json diff = json::parse(run("diff --json " + a + " " + b).out);
  CHECK(diff["tables_added"] == json{"ebc.c"});
  CHECK(diff["tables_removed"] == json{"ebc.b"});
  CHECK(diff["search_differs"] == true);
  CHECK(diff["differences"] ==
        json{{{"where", "/constraints/ebc.a/ranks"}, {"from", nullptr}, {"to", "0,1"}},
             {{"where", "/tables/ebc.a/num_embeddings"}, {"from", "10"}, {"to", "11"}},
             {{"where", "/topology/hbm_cap"}, {"from", "34359738368"}, {"to", "1000"}}});
  const std::string text = run("diff " + a + " " + b).out;
  CHECK(contains(text, "tables added: ebc.c"));
  CHECK(contains(text, "(default)"));
}

TEST_CASE("diff: tables without a topology are compared on the ranks of the flags") {
  const Command run;
  const auto tables = [&](const char* name, const char* rows) {
    REQUIRE(shardwright::write_file(
                run.path(name), std::string("{\"tables\": [{\"name\": \"a\", ") +
                                    "\"num_embeddings\": " + rows + ", \"embedding_dim\": 64}]}")
                .ok());
    return run.path(name);
  };
  const std::string files = tables("a.json", "1000") + " " + tables("b.json", "2000");
  const CommandOutcome outcome = run("diff " + files + " --ranks 4 --hbm 1GiB --json");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  CHECK(json::parse(outcome.out)["same"] == false);
  CHECK(run("diff " + files + " --ranks 4 --hbm 1").status == 2);
  CHECK(run("diff " + files).status == 2);
}

TEST_CASE("diff: a problem and a plan cannot be compared, and bad files are named") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kProblem + kLimit + "-o " + plan).status == 0);
  const CommandOutcome mixed = run("diff " + kProblem + " " + plan);
  CHECK(mixed.status == 2);
  CHECK(contains(mixed.err, "compare two of a kind"));
  json twice = read_json(plan);
  twice["plan"].push_back(twice["plan"][0]);
  const std::string bad = run.path("twice.json");
  write_json(bad, twice);
  const CommandOutcome outcome = run("diff " + plan + " " + bad);
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, bad + ": /plan/20: table"));
  CHECK(run("diff " + kProblem + " " + kOther).status == 0);
}

}  // namespace shardwright::reuse_diff_test
