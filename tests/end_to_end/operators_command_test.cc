// The commands under `shardwright operators` give the recorded answers in every format of input and
// output.
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "tests/support/command.h"

namespace shardwright::operators_command_test {

namespace {

using nlohmann::json;
using shardwright::read_file;
using shardwright::write_file;
using shardwright::test_support::Command;
using shardwright::test_support::CommandOutcome;
using shardwright::test_support::contains;
using shardwright::test_support::cut_member;

const std::string kGolden = "tests/golden/operators/";

std::string golden_text(const std::string& name) {
  auto text = read_file(kGolden + name + ".json.gz");
  REQUIRE_MESSAGE(text.ok(), name);
  return std::move(text).value();
}

json golden(const std::string& name) { return json::parse(golden_text(name)); }

std::string file(const std::string& name) { return kGolden + name + ".json.gz"; }

json answer(const CommandOutcome& outcome, int status = 0) {
  CHECK_MESSAGE(outcome.status == status, outcome.err);
  REQUIRE_MESSAGE(json::accept(outcome.out), outcome.err);
  return json::parse(outcome.out);
}

// Returns an answer without the members that differ between runs.
std::string lasting(std::string text, const std::vector<std::string_view>& changing) {
  for (const std::string_view key : changing)
    cut_member(text, key);
  return text;
}

struct Asked {
  std::string arguments;  // of the command, without its file
  std::string name;       // of the golden file
  std::vector<std::string_view> changing;
};

// Returns one request for each command.
std::vector<Asked> one_of_each() {
  return {{"operators solve --budget 240000",
           "colossal_mlp_2x2",
           {"threads", "solve_seconds", "seconds"}},
          {"operators autoshard", "slapo_v1", {}},
          {"operators paths --cost exact", "colossal_paths", {}},
          {"operators strategies", "strategies", {}},
          {"operators build --mesh 2x2", "graphs/mlp", {}}};
}

}  // namespace

TEST_CASE(
    "operators command: solve finds the recorded objectives, or says how much memory is needed") {
  const Command run;
  for (const char* name : {"colossal_mlp_2x2", "colossal_mlp_2x4", "colossal_gpt2_mlp_2x2",
                           "colossal_gpt2_attn_2x2", "colossal_resnet50_2x2"}) {
    const json solutions = golden(name).at("solutions");
    for (const json& recorded : solutions) {
      const double budget = recorded.at("memory_budget").get<double>();
      CAPTURE(name);
      CAPTURE(budget);
      std::string arguments = "operators solve --json " + file(name);
      if (budget > 0) arguments += " --budget " + std::to_string(static_cast<long>(budget));
      const bool feasible = recorded.contains("objective") && !recorded["objective"].is_null();
      const json ours = answer(run(arguments), feasible ? 0 : 3);
      if (feasible) {
        CHECK(ours.at("status") == "optimal");
        CHECK(ours.at("objective").get<double>() ==
              doctest::Approx(recorded["objective"].get<double>()).epsilon(1e-12));
        CHECK(ours.at("choice").size() == ours.at("names").size());
      } else {
        CHECK(ours.at("status") == "infeasible");
        CHECK(ours.at("error").at("minimum_bytes").get<double>() > budget);
      }
    }
  }
}

TEST_CASE(
    "operators command: the smallest budget that the message names works, and no smaller one") {
  const Command run;
  const std::string solve = "operators solve --json " + file("colossal_mlp_2x2") + " --budget ";
  const json refused = answer(run(solve + "200000"), 3);
  CHECK(refused.at("error").at("type") == "insufficient_memory");
  CHECK(refused.at("error").at("limit_bytes") == 200000);
  CHECK(refused.at("error").at("minimum_is_exact") == true);
  const auto least = refused.at("error").at("minimum_bytes").get<long>();
  CHECK(contains(refused.at("error").at("message").get<std::string>(), std::to_string(least)));
  CHECK(run(solve + std::to_string(least - 1)).status == 3);
  CHECK(answer(run(solve + std::to_string(least))).at("peak_bytes") == least);
  const CommandOutcome report = run("operators solve " + file("colossal_mlp_2x2") + " --budget 1");
  CHECK(report.status == 3);
  CHECK(contains(report.out, "needed"));
}

TEST_CASE("operators command: solve reads XLA's requests") {
  const Command run;
  int solved = 0;
  const json requests = golden("xla_ilp_cases").at("solve");
  for (const json& recorded : requests) {
    CAPTURE(recorded.at("name").get<std::string>());
    REQUIRE(write_file(run.path("request.json"), recorded.dump()).ok());
    const CommandOutcome outcome = run("operators solve --json " + run.path("request.json"));
    if (!recorded.at("expected").contains("objective") ||
        recorded.at("expected").at("objective").is_null()) {
      CHECK(outcome.status == 3);
      continue;
    }
    CHECK(answer(outcome).at("objective") == recorded.at("expected").at("objective"));
    ++solved;
  }
  CHECK(solved >= 5);
}

TEST_CASE("operators command: autoshard finds the recorded optima") {
  const Command run;
  for (const char* name : {"slapo_v1", "slapo_v2"}) {
    const json recorded = golden(name);
    const json ours = answer(run("operators autoshard --json " + file(name)));
    REQUIRE(ours.size() == recorded.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CHECK(ours[i].at("optimum_cost") == recorded[i].at("optimum_cost"));
      if (recorded[i].contains("num_optimal_assignments"))
        CHECK(ours[i].at("num_optimal") == recorded[i].at("num_optimal_assignments"));
    }
  }
}

TEST_CASE("operators command: paths gives the recorded rows") {
  const Command run;
  const json recorded = golden("colossal_paths");
  const json ours = answer(run("operators paths --json " + file("colossal_paths")));
  REQUIRE(ours.size() == recorded.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    REQUIRE(ours[i].at("pairs").size() == recorded[i].at("pairs").size());
    for (std::size_t k = 0; k < ours[i]["pairs"].size(); ++k)
      CHECK(ours[i]["pairs"][k] == recorded[i]["pairs"][k]);
  }
}

TEST_CASE("operators command: strategies gives the recorded strategies") {
  const Command run;
  const json recorded = golden("strategies").at("records");
  const json ours = answer(run("operators strategies --json " + file("strategies"))).at("records");
  REQUIRE(ours.size() == recorded.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(recorded[i].at("id").get<std::string>());
    CHECK(ours[i].at("id") == recorded[i].at("id"));
    CHECK(ours[i].at("count") == recorded[i].at("expected").at("count"));
    CHECK(ours[i].at("strategies") == recorded[i].at("expected").at("strategies"));
  }
}

TEST_CASE("operators command: solve treats an instance from build like the recorded one") {
  const Command run;
  const std::string instance = run.path("instance.json");
  REQUIRE(run("operators build " + file("graphs/gpt2_mlp") + " --mesh 2x2 -o " + instance).status ==
          0);
  const json recorded = golden("colossal_gpt2_mlp_2x2");
  const auto built = read_file(instance);
  REQUIRE(built.ok());
  CHECK(json::parse(*built).at("nodes") == recorded.at("nodes"));
  CHECK(json::parse(*built).at("edges_merged") == recorded.at("edges_merged"));
  CHECK(answer(run("operators solve --json " + instance)).at("objective").get<double>() ==
        doctest::Approx(recorded.at("solutions")[0].at("objective").get<double>()).epsilon(1e-12));
}

TEST_CASE("operators command: files, pipes, gzip, --json, -o and any number of threads agree") {
  const Command run;
  for (const Asked& asked : one_of_each()) {
    CAPTURE(asked.arguments);
    const std::string plain = run.path("plain.json");
    REQUIRE(write_file(plain, golden_text(asked.name)).ok());
    const auto text = [&](const CommandOutcome& outcome) {
      REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
      return lasting(outcome.out, asked.changing);
    };
    const std::string expected =
        text(run(asked.arguments + " --json --threads 1 " + file(asked.name)));
    CHECK(text(run(asked.arguments + " --json --threads 2 " + file(asked.name))) == expected);
    CHECK(text(run(asked.arguments + " --json " + plain)) == expected);
    CHECK(text(run(asked.arguments + " --json -", "cat " + plain + " | ")) == expected);
    CHECK(text(run(asked.arguments + " --json -", "cat " + file(asked.name) + " | ")) == expected);
    CHECK(text(run(asked.arguments + " -o - " + plain)) == expected);
    const CommandOutcome written =
        run(asked.arguments + " -o " + run.path("answer.json") + " " + plain);
    CHECK(written.out.empty());
    CHECK(text({written.status, *read_file(run.path("answer.json")), written.err}) == expected);
    const CommandOutcome report = run(asked.arguments + " " + plain);
    CHECK(report.status == 0);
    CHECK_FALSE(json::accept(report.out));
    CHECK(report.err.empty());
  }
}

TEST_CASE("operators command: a bad file exits 2, names the place, and leaves no output behind") {
  const Command run;
  for (const Asked& asked : one_of_each()) {
    CAPTURE(asked.arguments);
    const std::string text = golden_text(asked.name);
    REQUIRE(write_file(run.path("cut.json"), text.substr(0, text.size() / 2)).ok());
    const std::string output = run.path("never.json");
    const CommandOutcome outcome =
        run(asked.arguments + " " + run.path("cut.json") + " -o " + output);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("shardwright: " + run.path("cut.json") + ": line "));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    for (const auto& entry : std::filesystem::directory_iterator(run.folder()))
      CHECK_FALSE(entry.path().filename().string().starts_with("never"));
    CHECK(contains(run(asked.arguments + " missing.json").err, "missing.json: cannot open"));
  }
  CHECK(contains(run("operators build --mesh 2x2 " + file("colossal_mlp_2x2")).err,
                 "this is a cost instance, which `shardwright operators solve INSTANCE` reads"));
  CHECK(contains(run("operators solve " + file("graphs/mlp")).err,
                 "this is an operator graph, which `shardwright operators build GRAPH` reads"));
}

TEST_CASE("operators command: a time or work budget that ends before the first answer exits 4") {
  const Command run;
  const json out_of_time =
      answer(run("operators solve --json --time-limit 0 " + file("colossal_resnet50_2x2")), 4);
  CHECK(out_of_time.at("status") == "unknown");
  CHECK(out_of_time.at("stopped_by") == "time_limit");
  CHECK(out_of_time.at("choice").is_null());
}

TEST_CASE("operators command: the contest's form ends with the line of choices") {
  const Command run;
  REQUIRE(write_file(run.path("contest.json"), R"({"problem": {"name": "example",
    "nodes": {"intervals": [[0, 3], [1, 4]], "costs": [[1, 9], [5, 2]], "usages": [[40, 10], [40, 20]]},
    "edges": {"nodes": [[0, 1]], "costs": [[0, 0, 0, 0]]}, "usage_limit": 50}})")
              .ok());
  const CommandOutcome contest =
      run("operators solve --format iopddl-contest " + run.path("contest.json") + " 10");
  CHECK(contest.status == 0);
  REQUIRE(contest.out.ends_with("\n"));
  const std::size_t last = contest.out.rfind('\n', contest.out.size() - 2) + 1;  // npos + 1 = 0
  CHECK(contest.out.substr(last) == "[1, 1]\n");
  const json solved = answer(run("operators solve --json " + run.path("contest.json")));
  CHECK(solved.at("objective") == 11);
  CHECK(solved.at("choice") == json({1, 1}));
  const CommandOutcome none = run("operators solve --format iopddl-contest --budget 20 " +
                                  run.path("contest.json") + " 10");
  CHECK(none.status == 3);
  CHECK(none.out.empty());
  CHECK(contains(none.err, "the memory limit is 20 bytes"));
  CHECK(contains(run("operators solve " + run.path("contest.json") + " 10").err, "TIMEOUT"));
}

TEST_CASE("operators command: every subcommand has a help text with an example") {
  const Command run;
  const CommandOutcome all = run("operators --help");
  CHECK(all.status == 0);
  for (const char* name : {"solve", "autoshard", "paths", "strategies", "build"}) {
    CHECK(contains(all.out, name));
    const CommandOutcome help = run(std::string("operators ") + name + " --help");
    CHECK(help.status == 0);
    CHECK(contains(help.out, "Example"));
    CHECK(contains(help.out, std::string("shardwright operators ") + name));
    CHECK(help.err.empty());
  }
}

TEST_CASE("operators command: misuse prints one line with a suggestion") {
  const Command run;
  const auto check = [&](const std::string& arguments, std::string_view message) {
    CAPTURE(arguments);
    const CommandOutcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  const std::string mlp = file("graphs/mlp");
  check("operators", "shardwright operators needs a subcommand; known: solve,");
  check("operators slove x", "unknown command \"slove\"; did you mean \"solve\"?");
  check("operators solve x --budgt 3", "unknown option --budgt; did you mean --budget?");
  check("operators solve x --frobnicate", "see shardwright operators solve --help");
  check("operators --mesh 2x2", "unknown option --mesh; see shardwright operators --help");
  check("operators solve", "INSTANCE");
  check("operators solve x --time-limit soon", "--time-limit: must be a number of seconds");
  check("operators solve x --format colossal", "--format");
  check("operators solve " + file("colossal_mlp_2x2") + " --budget 1.5GBB", "--budget: ");
  check("operators build " + mlp, "--mesh");
  check("operators build " + mlp + " --mesh 2x", "--mesh: a mesh is its extents joined by x");
  check("operators build " + mlp + " --mesh 2x2x2",
        "strategies are defined for meshes of one or two axes, this one has 3");
  check("operators paths x --cost cheap", "--cost");
  check("operators autoshard x --cost-model v3", "--cost-model");
  check("operators autoshard " + file("slapo_v1") + " --devices 0",
        "--devices: must be a whole number of at least 1, not \"0\"");
}

TEST_CASE("operators plan: a traced model is planned, reported, and refused if memory is short") {
  const Command run;
  const std::string model = "samples/data/traced_mlp.json";
  const json plan = answer(run("operators plan " + model + " --mesh 4x2 --gap 0 --json"));
  CHECK(plan["format"] == "shardwright.aten_plan");
  CHECK(plan["status"] == "optimal");
  CHECK(plan["mesh"]["shape"] == json({4, 2}));
  CHECK(plan["objective_us"] == plan["lower_bound_us"]);
  const CommandOutcome report = run("operators plan " + model + " --mesh 4x2 --gap 0");
  CHECK(report.status == 0);
  CHECK(contains(report.out, "Optimal: no plan takes less time."));
  CHECK(contains(report.out, "parameter"));
  const json none = answer(run("operators plan " + model + " --mesh 2 --memory 100KiB --json"), 3);
  CHECK(none["status"] == "infeasible");
  CHECK(none["least_bytes"] > 100 << 10);
  const CommandOutcome without = run("operators plan " + model);
  CHECK(without.status == 2);
  CHECK(contains(without.err, "--mesh"));
}

TEST_CASE(
    "operators plan: a search without a limit ends with a plan or a proof, however tight memory "
    "is") {
  const Command run;
  const std::string model = "tests/golden/reported/stopped_no_limit_graph.json.gz";
  // No plan holds less than `least` bytes, and some plan holds exactly that.
  const auto check = [&](const std::string& graph, std::int64_t least, std::int64_t limit) {
    CAPTURE(limit);
    const std::string asked = "operators plan " + graph + " --mesh 2x2 --memory " +
                              std::to_string(limit) + "B --gap 0 --json";
    const json found = answer(run(asked), limit < least ? 3 : 0);
    CHECK(found["status"] == (limit < least ? "infeasible" : "optimal"));
    const json near = answer(run("operators plan " + graph + " --mesh 2x2 --memory " +
                                 std::to_string(limit) + "B --json"),
                             limit < least ? 3 : 0);
    if (limit >= least) {
      CHECK(near["peak_bytes"] <= limit);
      CHECK(near["objective_us"] <= found["objective_us"].get<double>() * 1.002);
    }
    if (limit < least) CHECK(found["least_bytes"] > limit);
    if (limit >= least) CHECK(found["peak_bytes"] <= limit);
  };
  for (const std::int64_t limit : {1239, 1256, 1264, 1340, 1350, 1500, 1683, 1684})
    check(model, 1264, limit);
  for (const std::int64_t limit : {280000, 284927, 284928})
    check("samples/data/traced_mlp.json", 284928, limit);
}

TEST_CASE("operators plan: what is known of memory is said where a limit stops the search") {
  const Command run;
  const json stopped =
      answer(run("operators plan tests/golden/reported/gpt2_2x2_graph.json.gz --mesh 2x2 "
                 "--memory 1204000B --work-limit 4000000 --json"),
             4);
  CHECK(stopped["status"] == "unknown");
  CHECK(stopped["least_bytes"] > 1'100'000);
}

TEST_CASE("operators plan: axes of one device change nothing, and tensors are replicated there") {
  const Command run;
  const auto plan = [&](const std::string& mesh) {
    return answer(
        run("operators plan tests/golden/reported/onegpu_ce_graph.json.gz --json --mesh " + mesh));
  };
  for (const auto& [mesh, axis, longer] :
       {std::tuple("2", 1U, "1x2x1"), std::tuple("2", 0U, "2x1"), std::tuple("1", 0U, "1x1")}) {
    const std::string with_ones = longer;
    CAPTURE(with_ones);
    const json without = plan(mesh);
    const json with = plan(with_ones);
    for (const char* const figure : {"objective_us", "lower_bound_us", "peak_bytes"})
      CHECK(with[figure] == without[figure]);
    for (std::size_t n = 0; n < with["nodes"].size(); ++n) {
      const json& wide = with["nodes"][n]["outputs"];
      const json& narrow = without["nodes"][n]["outputs"];
      for (std::size_t o = 0; o < wide.size(); ++o) {
        for (std::size_t a = 0; a < wide[o].size(); ++a)
          CHECK((wide[o][a] == "-" || wide[o][a] == (a == axis ? narrow[o][0] : json("R"))));
      }
    }
  }
}

TEST_CASE(
    "operators sweep: meshes are ranked; operators build writes what operators solve proves") {
  const Command run;
  const std::string model = "samples/data/traced_mlp.json";
  const json sweep = answer(run("operators sweep " + model + " --devices 8 --json"));
  REQUIRE(sweep["meshes"].size() == 4);
  for (std::size_t i = 1; i < sweep["meshes"].size(); ++i)
    CHECK(sweep["meshes"][i - 1]["objective_us"] <= sweep["meshes"][i]["objective_us"]);
  const CommandOutcome none = run("operators sweep " + model + " --devices 8 --memory 100KiB");
  CHECK(none.status == 3);
  CHECK(contains(none.out, "needs at least"));
  CHECK(contains(none.out, "is enough"));
  const json shortage =
      answer(run("operators sweep " + model + " --devices 8 --memory 100KiB --json"), 3);
  for (const json& mesh : shortage["meshes"])
    CHECK(mesh["enough_bytes"] >= mesh["least_bytes"]);
  const json hidden =
      answer(run("operators sweep " + model + " --devices 8 --memory 1MiB --overlap 1 --json"));
  const json exposed =
      answer(run("operators sweep " + model + " --devices 8 --memory 1MiB --json"));
  CHECK(hidden["meshes"][0]["objective_us"] < exposed["meshes"][0]["objective_us"]);
  const std::string path = run.path("instance.json");
  CHECK(run("operators build " + model + " --mesh 2x2 -o " + path).status == 0);
  const json solved = answer(run("operators solve " + path + " --json"));
  const json plan = answer(run("operators plan " + model + " --mesh 2x2 --json"));
  CHECK(solved["status"] == "optimal");
  CHECK(solved["objective"].get<double>() ==
        doctest::Approx(plan["objective_us"].get<double>() * 1e9).epsilon(1e-9));
}

}  // namespace shardwright::operators_command_test
