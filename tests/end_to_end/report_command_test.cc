// `--report` as a user runs it: it writes a page in addition to the answer.
#include <cstddef>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "tests/support/command.h"

namespace shardwright::report_command_test {

using namespace shardwright::test_support;
using nlohmann::json;
using shardwright::read_file;
using shardwright::write_file;

namespace {

const std::string kSample = "samples/data/mlperf_dlrm_dcnv2.json";
const std::string kOneHost = " --ranks 8 --hbm 80GiB ";

json data_in(const std::string& path) {
  const auto page = read_file(path);
  REQUIRE_MESSAGE(page.ok(), page.error().to_string());
  const std::string begin = "id=\"data\">";
  const std::size_t from = page->find(begin);
  REQUIRE(from != std::string::npos);
  return json::parse(
      page->substr(from + begin.size(), page->find("</script>", from) - from - begin.size()));
}

}  // namespace

TEST_CASE("report command: the page says what the answer says") {
  const Command run;
  const CommandOutcome outcome =
      run("plan --json " + kSample + kOneHost + "--report " + run.path("plan.html"));
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  const json answer = json::parse(outcome.out);
  const json page = data_in(run.path("plan.html"));
  CHECK(page["rating"] == answer["best_rating"]);
  CHECK(page["lower_bound"] == answer["lower_bound"]);
  CHECK(page["gap"] == answer["gap"]);
  CHECK(page["proven_optimal"] == answer["proven_optimal"]);
  CHECK(page["ranks_sha1"] == answer["plan_ranks_sha1"]);
  CHECK(page["problem_hash"] == answer["problem_hash"]);
  CHECK(page["plan_hash"] == answer["plan_hash"]);
  CHECK(page["search"]["proposals"] == answer["num_proposals"]);
  CHECK(page["search"]["total_s"] == answer["timing"]["total_s"]);
  CHECK(page["ranks"]["ms"] == answer["plan_perf_by_rank"]);
  CHECK(page["ranks"]["memory"]["tables"][0] == answer["plan_hbm_by_rank"]);
  CHECK(page["ranks"]["memory"]["tables"][1] == answer["plan_ddr_by_rank"]);
  const json& dense = answer["reserved_topology"]["dense_storage"];
  CHECK(page["reservation"]["dense"] == dense);
  REQUIRE(page["tables"].size() == answer["plan"].size());
  for (const json& entry : answer["plan"]) {
    bool found = false;
    for (const json& table : page["tables"]) {
      if (table[0] != entry["table"]) continue;
      found = true;
      CHECK(table[5][0] == entry["sharding_type"]);
      CHECK(table[5][7] == entry["hbm"]);
      CHECK(table[5][9] == entry["perf"]);
    }
    CHECK_MESSAGE(found, entry["table"]);
  }
}

TEST_CASE("report command: the text is printed as without it, and two runs write the same page") {
  const Command run;
  const std::string plan = "plan " + kSample + kOneHost + "--report ";
  const CommandOutcome with = run(plan + run.path("a.html"));
  REQUIRE_MESSAGE(with.status == 0, with.err);
  CHECK(contains(with.out, "Ranks\n"));
  REQUIRE(run(plan + run.path("b.html")).status == 0);
  json first = data_in(run.path("a.html")), second = data_in(run.path("b.html"));
  for (json* const page : {&first, &second})
    (*page)["search"].erase("total_s");
  CHECK(first == second);
}

TEST_CASE("report command: without a plan the exit code is the same, and the page says why") {
  const Command run;
  const CommandOutcome outcome =
      run("plan --json " + kSample + " --mode compat --ranks 4 --hbm 8GiB --ddr 4GiB --report " +
          run.path("none.html"));
  CHECK(outcome.status == 3);
  const json page = data_in(run.path("none.html"));
  CHECK(page["failure"] == json::parse(outcome.out)["error"]);
  CHECK(page["needs"]["total"] >
        page["needs"]["available"][0].get<double>() + page["needs"]["available"][1].get<double>());
}

TEST_CASE("report command: the page of replan shows what moves") {
  const Command run;
  REQUIRE(run("plan " + kSample + kOneHost + "-o " + run.path("old.json")).status == 0);
  const CommandOutcome outcome =
      run("replan --json " + kSample + " " + run.path("old.json") +
          " --ranks 4 --hbm 80GiB --work-limit 2000000 --report " + run.path("new.html"));
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  const json answer = json::parse(outcome.out);
  const json page = data_in(run.path("new.html"));
  CHECK(page["migration"]["moved_bytes"] == answer["migration"]["moved_bytes"]);
  CHECK(page["migration"]["rating_kept"] == answer["migration"]["rating_kept"]);
  CHECK(page["change"]["kept"] == answer["migration"]["tables_kept"]);
  CHECK(page["change"]["moved_bytes"] == answer["migration"]["moved_bytes"]);
  REQUIRE(page["change"]["tables"].size() == answer["migration"]["moves"].size());
  std::int64_t sent = 0;
  for (const json& flow : page["change"]["flows"])
    sent += flow[2].get<std::int64_t>();
  CHECK(sent > 0);
  CHECK(sent == answer["migration"]["moved_bytes"]);
}

TEST_CASE("report command: explain, diff and sweeps have pages with the numbers of their answers") {
  const Command run;
  const std::string page = run.path("page.html");
  const std::string plan = run.path("plan.json"), other = run.path("other.json");
  REQUIRE(run("plan " + kSample + kOneHost + "-o " + plan).status == 0);
  REQUIRE(run("plan " + kSample + kOneHost + "--mode compat -o " + other).status == 0);
  const auto ask = [&](const std::string& line) {
    const CommandOutcome outcome = run(line + " --json --report " + page);
    REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
    return json::parse(outcome.out);
  };
  const json explained = ask("explain " + kSample + " " + plan + kOneHost);
  const json why = data_in(page);
  CHECK(why["question"] == "explain");
  REQUIRE(why["explained"].size() == explained["tables"].size());
  CHECK(why["explained"][0][1].size() == explained["tables"][0]["options"].size());
  const json diff = ask("diff " + other + " " + plan);
  const json change = data_in(page)["change"];
  CHECK(change["moved"] == diff["tables_moved"]);
  CHECK(change["rating"] == diff["rating"]);
  CHECK(change["ranks"].size() == diff["ranks"].size());
  const json problems = ask("diff " + kSample + " " + kSample + kOneHost);
  CHECK(data_in(page)["differences"].size() == problems["differences"].size());
  const json sweep = ask("sweep " + kSample + " --ranks 8,16 --hbm 80GiB --work-limit 100000");
  CHECK(data_in(page)["answer"]["points"] == sweep["points"]);
  const json meshes = ask("operators sweep samples/data/traced_mlp.json --devices 4");
  CHECK(data_in(page)["answer"]["meshes"] == meshes["meshes"]);
  for (const char* const line : {"program apply samples/data/program.json --full",
                                 "program reshard samples/data/reshard.json",
                                 "program redistribute samples/data/redistribution.json --front",
                                 "program transfer samples/data/transfer.json"}) {
    const json answer = ask(line);
    CHECK_MESSAGE(data_in(page)["answer"] == answer, line);
  }
}

TEST_CASE("report command: explain without a plan says what would help") {
  const Command run;
  const CommandOutcome outcome =
      run("explain " + kSample + " --json --mode compat --ranks 1 --hbm 8GiB --ddr 4GiB --report " +
          run.path("why.html"));
  CHECK(outcome.status == 3);
  const json answer = json::parse(outcome.out);
  const json page = data_in(run.path("why.html"));
  CHECK(page["infeasible"]["message"] == answer["infeasible"]["message"]);
  CHECK(page["infeasible"]["remedies"].size() == answer["remedies"].size());
  CHECK(page["needs"]["total"] > 0);
}

TEST_CASE("report command: the page of a model says what the plan says") {
  const Command run;
  REQUIRE(write_file(run.path("options.json"),
                     R"({"mesh": [4, 2], "placements": {"inputs": {"x": ["S1", "R"]}}})")
              .ok());
  const CommandOutcome outcome =
      run("operators plan --json --memory 16GiB samples/data/traced_mlp.json --options " +
          run.path("options.json") + " --report " + run.path("model.html"));
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  const json plan = json::parse(outcome.out);
  const json page = data_in(run.path("model.html"));
  CHECK(page["compute"] == plan["compute_us"]);
  CHECK(page["moving"] == plan["redistribute_us"]);
  CHECK(page["peak"] == plan["peak_bytes"]);
  CHECK(page["memory_limit"] == plan["memory_limit"]);
  CHECK(page["lower_bound"] == plan["lower_bound_us"]);
  CHECK(page["nodes"] == plan["nodes"].size());
  CHECK(page["moves"].size() > 0);
  double us = 0;
  for (const json& move : page["moves"])
    us += move["us"].get<double>() * move["count"].get<double>();
  CHECK(us == doctest::Approx(plan["redistribute_us"].get<double>()));
  const CommandOutcome none =
      run("operators plan --mesh 4x2 --memory 1KiB samples/data/traced_mlp.json --report " +
          run.path("none.html"));
  CHECK(none.status == 3);
  CHECK(data_in(run.path("none.html"))["has_plan"] == false);
}

TEST_CASE("report command: a page that cannot be written is an error, and leaves nothing") {
  const Command run;
  const std::string plan = "plan " + kSample + kOneHost + "--work-limit 100000 --report ";
  const CommandOutcome nowhere = run(plan + run.path("no_such_folder") + "/plan.html");
  CHECK(nowhere.status == 2);
  CHECK(contains(nowhere.err, "no_such_folder/plan.html: cannot write"));
  for (const std::string& command :
       {plan, std::string("program redistribute samples/data/redistribution.json --report "),
        std::string("program transfer samples/data/transfer.json --report "),
        std::string("operators plan samples/data/traced_mlp.json --mesh 4x2 --report ")}) {
    const CommandOutcome dash = run(command + "-");
    CHECK(dash.status == 2);
    CHECK(contains(dash.err, "--report: needs the name of a file"));
  }
}

TEST_CASE("report command: a page never overwrites an input or the answer") {
  const Command run;
  const std::string problem = run.path("problem.json");
  const std::string same = run.path("same");
  const std::string before = *read_file(kSample);
  REQUIRE(write_file(problem, before).ok());
  const CommandOutcome input = run("plan " + problem + kOneHost + "--report " + problem);
  CHECK(input.status == 2);
  CHECK(contains(input.err, "--report: " + problem + " is PROBLEM, too, and would be lost"));
  CHECK(*read_file(problem) == before);
  const CommandOutcome answer =
      run("plan " + problem + kOneHost + "-o " + same + " --report " + same);
  CHECK(answer.status == 2);
  CHECK(contains(answer.err, same + " is --"));
  CHECK_FALSE(read_file(same).ok());
  CHECK(run("plan " + problem + kOneHost + "-o /dev/null --report /dev/null").status == 0);
}

TEST_CASE(
    "report command: names cannot send escape sequences to the terminal, and files get no "
    "colours") {
  const Command run;
  const json problem{
      {"name", "model\x1b[2J"},
      {"tables",
       {{{"name", "ads\x1b]0;owned\x07"}, {"num_embeddings", 1000}, {"embedding_dim", 64}}}}};
  REQUIRE(write_file(run.path("hostile.json"), problem.dump()).ok());
  const CommandOutcome outcome = run("plan " + run.path("hostile.json") + " --ranks 2");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  CHECK_FALSE(contains(outcome.out, "\x1b"));
  CHECK_FALSE(contains(outcome.out, "\x07"));
  CHECK(contains(outcome.out, "ads\\u001b]0;owned\\u0007"));
}

TEST_CASE("report command: colours on a terminal, unless NO_COLOR or the terminal refuses") {
  const Command run;
  const std::string plan = "plan " + kSample + kOneHost + "--work-limit 100000";
  // script(1) runs the command in a terminal.
  if (std::system("command -v script >/dev/null") != 0) {
    MESSAGE("skipped: script(1) is not installed");
    return;
  }
  const auto on_terminal = [&](const std::string& environment) {
    const std::string program = std::getenv("SHARDWRIGHT_COMMAND");
    const std::string line = environment + " script -qec \"'" + program + "' " + plan + "\" " +
                             run.path("typescript") + " >/dev/null </dev/null 2>&1";
    REQUIRE(std::system(line.c_str()) == 0);
    return *read_file(run.path("typescript"));
  };
  const std::string bold = "\x1b[1mRanks\x1b[0m";
  CHECK(contains(on_terminal("env -u NO_COLOR TERM=xterm"), bold));
  CHECK_FALSE(contains(on_terminal("env NO_COLOR=1 TERM=xterm"), bold));
  CHECK_FALSE(contains(on_terminal("env -u NO_COLOR TERM=dumb"), bold));
}

TEST_CASE("report command: a saved answer has the text that its command printed") {
  const Command run;
  const std::string plan = run.path("plan.json"), other = run.path("other.json");
  REQUIRE(run("plan " + kSample + kOneHost + "-o " + plan).status == 0);
  REQUIRE(run("plan " + kSample + kOneHost + "--mode compat -o " + other).status == 0);
  // The first line has numbers of tables and ranks, which the JSON lacks, and times, which differ
  // between runs.
  const auto without_first_line = [](const std::string& text) {
    return text.substr(text.find('\n'));
  };
  const std::string saved = run.path("saved.json");
  for (const std::string& line :
       {"sweep " + kSample + " --ranks 4,8 --hbm 8GiB,80GiB --price 1,2 --work-limit 100000",
        "explain " + kSample + " " + plan + kOneHost, "diff " + other + " " + plan,
        "diff " + kSample + " " + kSample + kOneHost}) {
    CAPTURE(line);
    const CommandOutcome fresh = run(line);
    REQUIRE_MESSAGE(fresh.status == 0, fresh.err);
    REQUIRE(run(line + " -o " + saved).status == 0);
    const CommandOutcome shown = run("report " + saved);
    CHECK_MESSAGE(shown.status == 0, shown.err);
    CHECK(without_first_line(shown.out) == without_first_line(fresh.out));
  }
}

}  // namespace shardwright::report_command_test
