// Every command gives the same answer through the C interface as it prints.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "runtime/io/file.h"
#include "tests/runtime/capi/asking.h"
#include "tests/support/command.h"

namespace shardwright::command_answers_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

const std::string kProblem = "samples/data/mlperf_dlrm_dcnv2.json";

// A request as arguments of the command and as JSON for C. `times` lists members that hold seconds.
struct Question {
  const char* command;
  std::string arguments;
  std::string request;
  std::vector<const char*> times;
  int status = 0;
  shardwright_outcome outcome = SHARDWRIGHT_DONE;
  bool has_page = false;
};

// Returns the text without the lines that state how long something took.
std::string without_times(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!contains(line, "planned in ") && !contains(line, "built in ")) kept += line + "\n";
  }
  return kept;
}

void check_same(const Command& run, const Question& question) {
  CAPTURE(question.command);
  CAPTURE(question.arguments);
  const std::string line = std::string(question.command) + " " + question.arguments;
  const CommandOutcome printed = run(line + " --json --threads 1");
  CHECK(printed.status == question.status);
  const Asked asked(question.command, question.request);
  REQUIRE_OK(asked.status());
  CHECK(asked.outcome() == question.outcome);
  std::string expected = printed.out;
  std::string found = asked.json();
  for (const char* time : question.times) {
    cut_member(expected, time);
    cut_member(found, time);
  }
  CHECK(found == expected);
  if (question.times.empty())
    CHECK(without_times(asked.report()) == without_times(run(line + " --threads 1").out));
  if (!question.has_page) return;
  const std::string page = run.path("page.html");
  CHECK(run(line + " --threads 1 --report " + page).status == question.status);
  CHECK(asked.page().substr(0, 200) == read_file(page)->substr(0, 200));
}

}  // namespace

TEST_CASE("capi commands: embedding tables") {
  const Command run;
  const std::vector<const char*> times{"read_s", "enumerate_s", "reserve_s", "explore_s",
                                       "total_s"};
  const std::string plan = run.path("plan.json");
  const std::string compat = run.path("compat.json");
  const std::string bad = run.path("bad.json");
  REQUIRE(run("plan " + kProblem + " --ranks 16 --work-limit 1000000 -o " + plan).status == 0);
  REQUIRE(run("plan " + kProblem + " --ranks 16 --mode compat -o " + compat).status == 0);
  std::string wrong = *read_file(plan);
  wrong.insert(wrong.find("\"best_rating\":") + 14, "1");
  REQUIRE(write_file(bad, wrong).ok());
  const std::string problem = R"("problem": ")" + kProblem + R"(", )";
  const std::string with_plan = problem + R"("plan": ")" + plan + R"(", )";
  const std::vector<Question> questions{
      {"plan", kProblem + " --ranks 16 --ranks-per-host 8 --hbm 80GiB --work-limit 100000 --stats",
       "{" + problem +
           R"("ranks": 16, "ranks_per_host": 8, "hbm": "80GiB", "work_limit": 100000, "stats": true,
              "threads": 1})",
       times, 0, SHARDWRIGHT_DONE, true},
      {"plan", kProblem + " --mode compat --trace --emit-search-space --batch-size 256 --seed 7",
       "{" + problem +
           R"("mode": "compat", "trace": true, "emit_search_space": true, "batch_size": 256,
              "seed": 7, "threads": 1})",
       times},
      {"plan", kProblem + " --ranks 2 --hbm 1GiB --ddr 1GiB --device cuda --torchrec a48cef79",
       "{" + problem +
           R"("ranks": 2, "hbm": 1073741824, "ddr": "1GiB", "device": "cuda",
              "torchrec": "a48cef79", "threads": 1})",
       times, 3, SHARDWRIGHT_NOTHING_FITS},
      {"plan", kProblem + " --ranks 16 --mode compat --reuse " + compat,
       "{" + problem + R"("ranks": 16, "mode": "compat", "threads": 1, "reuse": ")" + compat +
           "\"}",
       times},
      {"replan", kProblem + " " + plan + " --ranks 8 --migration-weight 0.5 --work-limit 100000",
       "{" + with_plan +
           R"("ranks": 8, "migration_weight": 0.5, "work_limit": 100000, "threads": 1})",
       times, 0, SHARDWRIGHT_DONE, true},
      {"verify",
       kProblem + " " + plan + " --ranks 16 --stats",
       "{" + with_plan + R"("ranks": 16, "stats": true})",
       {}},
      {"verify",
       kProblem + " " + bad + " --ranks 16",
       "{" + problem + R"("ranks": 16, "plan": ")" + bad + "\"}",
       {},
       5,
       SHARDWRIGHT_VIOLATION},
      {"explain",
       kProblem + " " + plan + " --ranks 16 --table cat_9",
       "{" + with_plan + R"("ranks": 16, "table": "cat_9", "threads": 1})",
       {"total_s"},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"sweep",
       kProblem + " --ranks 8,16 --hbm 1GiB,80GiB --batch-size 512 --work-limit 10000",
       "{" + problem +
           R"("ranks": [8, 16], "hbm": ["1GiB", "80GiB"], "batch_size": 512, "work_limit": 10000,
              "threads": 1})",
       {"total_s"},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"diff",
       plan + " " + compat,
       R"({"plan_a": ")" + plan + R"(", "plan_b": ")" + compat + "\"}",
       {},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"diff",
       kProblem + " " + kProblem + " --ranks 16",
       R"({"plan_a": ")" + kProblem + R"(", "plan_b": ")" + kProblem + R"(", "ranks": 16})",
       {},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"enumerate",
       kProblem + " --ranks 16 --runs",
       "{" + problem + R"("ranks": 16, "runs": true})",
       {}},
  };
  for (const Question& question : questions)
    check_same(run, question);
}

TEST_CASE("capi commands: operators") {
  const Command run;
  const std::string traced = "samples/data/traced_mlp.json";
  const std::string graph = "samples/data/mlp_graph.json";
  const std::string instance = run.path("instance.json");
  REQUIRE(run("operators build " + graph + " --mesh 2x2 -o " + instance).status == 0);
  const std::vector<Question> questions{
      {"operators plan",
       traced + " --mesh 4x2 --memory 16GiB --blocks equal",
       R"({"graph": ")" + traced +
           R"(", "mesh": [4, 2], "memory": "16GiB", "blocks": "equal", "threads": 1})",
       {},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"operators plan",
       traced + " --mesh 4x2 --memory 1000B",
       R"({"graph": ")" + traced +
           R"(", "options": {"mesh": [4, 2], "memory": 1000}, "threads": 1})",
       {},
       3,
       SHARDWRIGHT_NOTHING_FITS},
      {"operators sweep",
       traced + " --devices 8 --axes 2 --memory 1MiB --overlap 0.5",
       R"({"graph": ")" + traced +
           R"(", "devices": 8, "axes": 2, "memory": "1MiB", "overlap": 0.5, "threads": 1})",
       {},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"operators build",
       traced + " --mesh 4x2",
       R"({"graph": ")" + traced + R"(", "mesh": "4x2", "threads": 1})",
       {}},
      {"operators build",
       graph + " --mesh 2x2",
       R"({"graph": ")" + graph + R"(", "mesh": "2x2", "threads": 1})",
       {}},
      {"operators solve",
       instance + " --budget 200KB",
       R"({"instance": ")" + instance + R"(", "budget": 200000, "threads": 1})",
       {"solve_seconds", "seconds"}},
      {"operators strategies",
       "samples/data/linear.json",
       R"({"file": "samples/data/linear.json"})",
       {}},
      {"operators paths",
       "samples/data/paths.json --cost exact",
       R"({"file": "samples/data/paths.json", "cost": "exact"})",
       {}},
      {"operators autoshard",
       "samples/data/autoshard_mlp.json --devices 8 --cost-model v1",
       R"({"graph": "samples/data/autoshard_mlp.json", "devices": 8, "cost_model": "v1"})",
       {}},
  };
  for (const Question& question : questions)
    check_same(run, question);
}

TEST_CASE("capi commands: programs, tensors and models") {
  const Command run;
  const std::vector<Question> questions{
      {"program reshard",
       "samples/data/reshard.json --compat --legacy-sync",
       R"({"cases": "samples/data/reshard.json", "compat": true, "legacy_sync": true})",
       {},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"program apply",
       "samples/data/program.json --full",
       R"({"program": "samples/data/program.json", "full": true})",
       {},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"program redistribute",
       "samples/data/redistribution.json",
       R"({"redistribution": "samples/data/redistribution.json"})",
       {},
       0,
       SHARDWRIGHT_DONE,
       true},
      {"program redistribute",
       "samples/data/redistribution.json --front",
       R"({"redistribution": "samples/data/redistribution.json", "front": true})",
       {}},
      {"program transfer",
       "samples/data/transfer.json --memory 16MiB --full",
       R"({"transfer": "samples/data/transfer.json", "memory": "16MiB", "full": true})",
       {},
       0,
       SHARDWRIGHT_DONE,
       true},
  };
  for (const Question& question : questions)
    check_same(run, question);
}

}  // namespace shardwright::command_answers_test
