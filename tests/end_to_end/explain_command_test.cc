// `explain` as a user runs it. `plan` and `verify` check its answers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/report/text/format.h"
#include "tests/support/command.h"

namespace shardwright::explain_command_test {

namespace {

using nlohmann::json;
using shardwright::read_file;
using shardwright::test_support::Command;
using shardwright::test_support::CommandOutcome;
using shardwright::test_support::contains;
using shardwright::test_support::cut_member;

const std::string kCases = "tests/golden/embedding/cases/";

json read_json(const std::string& path) { return json::parse(*read_file(path)); }

std::string written(const Command& run, const char* name, const json& content) {
  const std::string path = run.path(name);
  std::ofstream(path) << content.dump();
  return path;
}

json explained(const Command& run, const std::string& arguments, int status) {
  const CommandOutcome outcome = run("explain " + arguments + " --json");
  CAPTURE(outcome.err);
  REQUIRE(outcome.status == status);
  return json::parse(outcome.out);
}

// Returns the problem with the remedy applied. With `one_less`, the remedy is one step smaller.
json changed(json problem, const json& remedy, bool one_less) {
  if (remedy.contains("drop")) {
    const json::json_pointer place(remedy["drop"].get<std::string>());
    if (!one_less) problem[place.parent_pointer()].erase(place.back());
    return problem;
  }
  for (const auto& [pointer, value] : remedy["set"].items()) {
    const json::json_pointer place(pointer);
    problem[place] = value;
    if (!one_less || pointer == "/topology/local_world_size") continue;
    const double from = remedy["from"];
    const double to = remedy["to"];
    const double step = remedy["step"];
    double less = to > from ? std::max(to - step, from) : std::min(to + step, from);
    if (remedy["kind"] == "hosts") less *= value.get<double>() / to;
    if (value.is_number_integer()) {
      problem[place] = static_cast<std::int64_t>(std::llround(less));
    } else {
      problem[place] = std::round(less * 1e9) / 1e9;
    }
  }
  if (one_less && remedy["kind"] == "ranks")
    problem["/topology/local_world_size"_json_pointer] =
        problem["/topology/world_size"_json_pointer];
  return problem;
}

bool has_plan(const Command& run, const json& problem, const std::string& flags) {
  const std::string file = written(run, "changed.json", problem);
  const std::string plan = run.path("changed_plan.json");
  const int status = run("plan " + file + flags + " -o " + plan).status;
  CHECK((status == 0 || status == 3 || status == 4));
  if (status == 0) CHECK(run("verify " + file + " " + plan).status == 0);
  return status == 0;
}

// Checks that every remedy helps and that one step less does not. Returns the number of remedies.
std::size_t try_remedies(const Command& run, const json& problem, const std::string& flags) {
  const json answer = explained(run, written(run, "problem.json", problem) + flags, 3);
  CHECK(answer["feasible"] == false);
  for (const json& remedy : answer["remedies"]) {
    CAPTURE(remedy.dump());
    CHECK(has_plan(run, changed(problem, remedy, false), flags));
    CHECK_FALSE(has_plan(run, changed(problem, remedy, true), flags));
  }
  return answer["remedies"].size();
}

json golden(const std::string& name) { return json::parse(*read_file(kCases + name + ".json.gz")); }

// Tables of 1 to 3 GiB that cannot be split and do not fit on 4 ranks of 4 GiB.
json whole_tables() {
  json problem = {{"topology", {{"world_size", 4}, {"hbm_cap", std::int64_t{4} << 30}}},
                  {"tables", json::array()}};
  for (int i = 0; i < 12; ++i) {
    const std::string name = "t" + std::to_string(i);
    problem["tables"].push_back({{"name", name},
                                 {"num_embeddings", 4'000'000 + 700'000 * i},
                                 {"embedding_dim", 64},
                                 {"pooling_factor", 1 + i % 5}});
    problem["constraints"][name] = {{"sharding_types", {"table_wise"}},
                                    {"compute_kernels", {"fused"}}};
  }
  return problem;
}

std::string lasting(std::string text) {
  cut_member(text, "threads");
  const std::size_t begin = text.find("\"timing\":");
  REQUIRE(begin != std::string::npos);
  return text.erase(begin, text.find('}', begin) - begin);
}

}  // namespace

TEST_CASE("explain: a remedy makes a recorded case feasible, and one step less does not") {
  const Command run;
  const std::string limit = " --work-limit 1000000";
  CHECK(try_remedies(run, golden("11_nofit_insufficient_2r"), limit) >= 3);
  CHECK(try_remedies(run, golden("12_nofit_strict_constraints_4r"), limit) >= 3);
  CHECK(try_remedies(run, golden("13_reservation_negative_hbm"), limit) >= 1);
  CHECK(try_remedies(run, golden("12_nofit_strict_constraints_4r"), " --mode compat") >= 3);
}

TEST_CASE("explain: the reason names the smallest set that does not fit, with its bytes") {
  const Command run;
  const json table = explained(run, kCases + "12_nofit_strict_constraints_4r.json.gz", 3);
  CHECK(table["infeasible"]["reason"] == "table");
  CHECK(table["infeasible"]["proved"] == true);
  CHECK(table["infeasible"]["tables"] == json::array({{{"table", "big"}, {"module", "ebc"}}}));
  CHECK(table["infeasible"]["needed"] == 5120540672);
  CHECK(table["infeasible"]["available"] == 3650558361);
  const json reserved = explained(run, kCases + "13_reservation_negative_hbm.json.gz", 3);
  CHECK(reserved["infeasible"]["reason"] == "reservation");
  CHECK(reserved["infeasible"]["available"] == 2147483648);
  CHECK(reserved["infeasible"]["needed"].get<std::int64_t>() - 2147483648 == 1885358900);
}

TEST_CASE("explain: tables that do not fit together fit without any one of them") {
  const Command run;
  const json problem = whole_tables();
  const std::string limit = " --work-limit 1000000";
  const json answer = explained(run, written(run, "problem.json", problem) + limit, 3);
  CHECK(answer["infeasible"]["irreducible"] == true);
  std::vector<std::string> names;
  for (const json& table : answer["infeasible"]["tables"])
    names.push_back(table["table"]);
  REQUIRE(names.size() > 2);
  REQUIRE(names.size() < 12);
  const auto only = [&](const std::string& left_out) {
    json part = problem;
    part["tables"] = json::array();
    part["constraints"] = json::object();
    for (const json& table : problem["tables"]) {
      const std::string name = table["name"];
      if (name == left_out || std::find(names.begin(), names.end(), name) == names.end()) continue;
      part["tables"].push_back(table);
      part["constraints"][name] = problem["constraints"][name];
    }
    return part;
  };
  CHECK_FALSE(has_plan(run, only(""), limit));
  for (const std::string& name : names)
    CHECK(has_plan(run, only(name), limit));
  CHECK(try_remedies(run, problem, limit) >= 3);
}

TEST_CASE("explain: verify rates a plan with an exchanged option as explain says") {
  const Command run;
  const std::string problem = kCases + "09_mixed_default_20t_16r_2h.json.gz";
  const std::string plan_path = run.path("plan.json");
  REQUIRE(run("plan " + problem + " --mode compat -o " + plan_path).status == 0);
  const json plan = read_json(plan_path);
  const json answer = explained(run, problem + " " + plan_path, 0);
  CHECK(answer["best_rating"] == plan["best_rating"]);
  REQUIRE(answer["tables"].size() == 20);
  std::size_t tried = 0;
  for (std::size_t t = 0; t < 20; t += 6) {
    const json& table = answer["tables"][t];
    for (const json& option : table["options"]) {
      const std::string standing = option["standing"];
      if (standing == "no_place" || standing == "excluded") continue;
      json exchanged = {{"best_rating", option["rating"]}, {"plan", plan["plan"]}};
      for (json& entry : exchanged["plan"]) {
        if (entry["table"] != table["table"]) continue;
        entry = {{"table", entry["table"]},
                 {"module", entry["module"]},
                 {"sharding_type", option["sharding_type"]},
                 {"compute_kernel", option["compute_kernel"]},
                 {"load_factor", option["load_factor"]},
                 {"ranks", option["ranks"]}};
      }
      CAPTURE(option.dump());
      const int status = run("verify " + problem + " " + written(run, "x.json", exchanged)).status;
      CHECK(status == (standing == "too_large" ? 5 : 0));
      ++tried;
    }
  }
  CHECK(tried > 20);
}

TEST_CASE("explain: the text for a single table") {
  const Command run;
  const std::string problem = kCases + "12_nofit_strict_constraints_4r.json.gz";
  const CommandOutcome one = run("explain " + problem + " --hbm 8GiB --mode compat --table big");
  REQUIRE(one.status == 0);
  CHECK(contains(one.out, "why table_wise.fused"));
  CHECK(contains(one.out, "/constraints/big/sharding_types"));
  CHECK_FALSE(contains(one.out, "Table small"));
  const CommandOutcome unknown = run("explain " + problem + " --table bog");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.err, "--table: the problem has no table \"bog\"; did you mean \"big\"?"));
}

TEST_CASE("explain: the text fits the terminal, and no constraint to drop is cut off") {
  const Command run;
  const std::string plan = run.path("plan.json");
  const std::string larger = kCases + "09_mixed_default_20t_16r_2h.json.gz";
  REQUIRE(run("plan " + larger + " --work-limit 300000 -o " + plan).status == 0);
  const std::string none = kCases + "12_nofit_strict_constraints_4r.json.gz";
  for (const std::size_t width : {60U, 80U, 140U}) {
    CAPTURE(width);
    const std::string columns = "COLUMNS=" + std::to_string(width) + " ";
    const std::string infeasible = run("explain " + none, columns).out;
    CHECK(contains(infeasible, "  or drop /constraints/big/sharding_types\n"));
    CHECK(contains(infeasible, "is impossible  --hbm 5746MiB\n"));
    for (const std::string& text :
         {infeasible, run("explain " + larger + " " + plan, columns).out,
          run("plan " + larger + " --stats --reuse " + plan, columns).out}) {
      std::istringstream lines(text);
      std::size_t widest = 0;
      for (std::string line; std::getline(lines, line);)
        widest = std::max(widest, shardwright::display_width(line));
      CHECK(widest > width / 2);
      CHECK(widest <= width);
    }
  }
}

TEST_CASE("explain: a plan that does not belong to the problem is refused with its place") {
  const Command run;
  const std::string problem = kCases + "01_small_2t_2r_default.json.gz";
  const std::string plan_path = run.path("plan.json");
  REQUIRE(run("plan " + problem + " --mode compat -o " + plan_path).status == 0);
  json plan = read_json(plan_path);
  plan["plan"][1]["ranks"][0] = 7;
  const CommandOutcome rank = run("explain " + problem + " " + written(run, "x.json", plan));
  CHECK(rank.status == 2);
  CHECK(contains(rank.err, "/plan/1/ranks"));
  plan["plan"].erase(1);
  const CommandOutcome missing = run("explain " + problem + " " + written(run, "x.json", plan));
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "is not in the plan"));
}

TEST_CASE("explain: with a search space, ratings use its costs") {
  const Command run;
  const std::string problem = kCases + "01_small_2t_2r_default.json.gz";
  json space = json::parse(run("enumerate " + problem + " --json").out);
  for (json& option : space["search_space"]) {
    const double factor = option["sharding_type"] == "row_wise" ? 1e-3 : 2;
    for (json& shard : option["shards"]) {
      for (json& time : shard["perf"])
        time = time.get<double>() * factor;
    }
  }
  const std::string given = " --search-space " + written(run, "space.json", space);
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + problem + given + " -o " + plan).status == 0);
  const double rating = read_json(plan)["best_rating"];
  for (const std::string& explained_plan : {std::string(), " " + plan}) {
    CAPTURE(explained_plan);
    const json answer = explained(run, problem + explained_plan + given, 0);
    CHECK(answer["best_rating"].get<double>() == doctest::Approx(rating).epsilon(1e-9));
    for (const json& table : answer["tables"])
      CHECK(table["options"][0]["sharding_type"] == "row_wise");
  }
  CHECK(run("explain " + problem + " " + plan + given).err.empty());
  CHECK(contains(run("explain " + problem + " " + plan).err, "search_space"));

  const CommandOutcome none = run("explain " + problem + " --hbm 1MiB --ddr 1MiB" + given);
  CHECK(none.status == 3);
  CHECK(contains(none.out, "changes were not"));
  CHECK_FALSE(contains(none.out, "single change"));
}

TEST_CASE("explain: says if a plan was made for another problem") {
  const Command run;
  const std::string plan = run.path("plan.json");
  const std::string problem = kCases + "01_small_2t_2r_default.json.gz";
  REQUIRE(run("plan " + problem + " --batch-size 256 -o " + plan).status == 0);
  CHECK(run("explain " + problem + " " + plan + " --batch-size 256").err.empty());
  const CommandOutcome same = run("explain " + problem + " " + plan);
  CHECK(same.err ==
        "shardwright: " + plan + " was made with --batch-size 256, which holds here, too\n");
  const CommandOutcome other = run("explain " + problem + " " + plan + " --batch-size 512");
  CHECK(other.status == 0);
  CHECK(contains(other.err, "was made for another problem, which differs in batch_size; "));
}

TEST_CASE("explain, verify: a forgotten flag is named") {
  const Command run;
  const std::string plan = run.path("plan.json");
  const std::string problem = kCases + "01_small_2t_2r_default.json.gz";
  const std::string flags = " --ranks 4 --hbm 20GiB";
  REQUIRE(run("plan " + problem + flags + " -o " + plan).status == 0);
  CHECK(run("verify " + problem + " " + plan + flags).status == 0);
  const std::string asked = problem + " " + plan;
  // Flags that are left out are those of the plan.
  for (const char* const command : {"verify ", "explain "}) {
    const CommandOutcome same = run(command + asked);
    CHECK(same.status == 0);
    CHECK(contains(same.err, "was made with --ranks 4 --hbm 20GiB, which holds here, too"));
    CHECK(contains(run(command + asked + " --ranks 4").err, "was made with --hbm 20GiB,"));
  }
  const std::string others = " --ranks 2 --hbm 30GiB";
  const CommandOutcome explained = run("explain " + asked + others);
  CHECK(explained.status == 2);
  const CommandOutcome verified = run("verify " + asked + others);
  CHECK(verified.status == 5);
  CHECK(contains(verified.out, " other violations, which may follow from that"));
  CHECK(std::count(verified.out.begin(), verified.out.end(), '\n') == 2);
  for (const std::string& text : {explained.err, verified.out})
    CHECK(contains(text, "the plan was made for 4 ranks and 20.0 GiB of HBM per rank, "));

  const std::string grouped = run.path("grouped.json");
  REQUIRE(run("plan " + problem + " --ranks 4 --sharding-group-size 2 -o " + grouped).status == 0);
  CHECK(run("verify " + problem + " " + grouped + " --ranks 4").status == 0);

  const CommandOutcome groups = run("verify " + asked + " --sharding-group-size 2");
  CHECK(groups.status == 5);
  CHECK(contains(groups.out, "sharding groups of 2 ranks"));
  const CommandOutcome device = run("verify " + asked + " --device cpu");
  CHECK(device.status == 5);
  CHECK(contains(device.out, "the plan was made for device cuda"));
}

TEST_CASE("explain: a failed plan suggests explain, and the number of threads changes nothing") {
  const Command run;
  const std::string problem = kCases + "12_nofit_strict_constraints_4r.json.gz";
  const CommandOutcome text = run("plan " + problem);
  CHECK(text.status == 3);
  CHECK(contains(text.out, "shardwright explain " + problem));
  const CommandOutcome as_json = run("plan " + problem + " --json");
  CHECK(contains(as_json.err, "shardwright explain " + problem));
  const std::string crowded = written(run, "problem.json", whole_tables());
  for (const std::string& arguments :
       {crowded + " --work-limit 300000",
        kCases + "09_mixed_default_20t_16r_2h.json.gz --work-limit 300000"}) {
    const std::string one = run("explain " + arguments + " --json --threads 1").out;
    CHECK(lasting(one) == lasting(run("explain " + arguments + " --json --threads 3").out));
  }
}

}  // namespace shardwright::explain_command_test
