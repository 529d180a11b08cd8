// The command itself: exit codes, inputs and outputs, messages.
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "runtime/io/file.h"
#include "runtime/io/json/json_document.h"
#include "tests/support/command.h"

namespace shardwright::command_test {

using shardwright::JsonDocument;
using shardwright::read_file;
using shardwright::write_file;
using shardwright::test_support::Command;
using shardwright::test_support::contains;
using Outcome = shardwright::test_support::CommandOutcome;

namespace {

const std::string kCases = "tests/golden/embedding/cases/";
const std::string kAnswers = "tests/golden/embedding/answers/";
const std::string kSmall = kCases + "01_small_2t_2r_default.json.gz";

}  // namespace

TEST_CASE("command: help and version succeed on standard output") {
  const Command run;
  const Outcome help = run("--help");
  CHECK(help.status == 0);
  CHECK(contains(help.out, "plan"));
  CHECK(contains(help.out, "Exit status"));
  CHECK(help.err.empty());
  CHECK(run("--version").out.starts_with("shardwright "));
  const Outcome plan = run("plan --help all");
  CHECK(plan.status == 0);
  for (const char* option :
       {"--search-space", "--ranks-per-host", "--work-limit", "--threads", "-o"}) {
    CHECK(contains(plan.out, option));
  }
  const Outcome usual = run("plan --help");
  CHECK_FALSE(contains(usual.out, "--search-space"));
  CHECK(contains(usual.out, "`shardwright plan --help all` lists all flags."));
  CHECK(run("help plan").out == usual.out);
  CHECK(run("").out == help.out);
}

TEST_CASE("command: misuse exits 2 with one line that suggests what was meant") {
  const Command run;
  const auto check = [&](const std::string& arguments, std::string_view message) {
    CAPTURE(arguments);
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
    CHECK(outcome.err.starts_with("shardwright: "));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  check("plam x.json", "unknown command \"plam\"; did you mean \"plan\"?");
  check("plan " + kSmall + " --thread 2", "unknown option --thread; did you mean --threads?");
  check("plan", "PROBLEM");
  check("plan " + kSmall + " --threads -1", "--threads");
  check("plan " + kSmall + " --threads two", "two");
  check("plan " + kSmall + " --mode compt", "did you mean \"compat\"?");
  check("plan " + kSmall + " --hbm 80", "--hbm: \"80\" is no size");
  check("plan " + kSmall + " --hbm 80GiBs", "--hbm: \"80GiBs\" is no size");
  check("plan " + kSmall + " --device gpu", "--device: unknown compute device \"gpu\"");
  check("plan missing.json", "missing.json: cannot open");
  check("plan " + kSmall + " --time-limit -1", "--time-limit: must be a number of seconds");
  check("verify - -", "only one input");
}

TEST_CASE("command: bad input exits 2 with the file and the place") {
  const Command run;
  REQUIRE(write_file(run.path("bad.json"), R"({"topology": {"world_size": 2}, "tables": [
    {"name": "a", "num_embeddings": 0, "embedding_dim": 4}]})")
              .ok());
  const Outcome outcome = run("plan " + run.path("bad.json"));
  CHECK(outcome.status == 2);
  CHECK(outcome.err.starts_with("shardwright: " + run.path("bad.json") +
                                ": /tables/0/num_embeddings: "));
}

TEST_CASE("command: a plan given as a problem, or a problem given as a plan, is recognised") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kSmall + " -o " + plan).status == 0);
  for (const std::string& arguments : {"plan " + plan, "verify " + plan + " " + kSmall}) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(contains(outcome.err, "plan.json: this is a plan, which"), outcome.err);
  }
  for (const std::string command : {"verify ", "explain ", "replan "}) {
    const Outcome outcome = run(command + kSmall + " " + kSmall);
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(contains(outcome.err, "this is a problem, which"), outcome.err);
  }
}

TEST_CASE("command: no output overwrites an input") {
  const Command run;
  const std::string problem = run.path("problem.json");
  const std::string plan = run.path("plan.json");
  const std::string before = *read_file(kSmall);
  REQUIRE(write_file(problem, before).ok());
  std::filesystem::create_symlink(problem, run.path("link.json"));
  const auto refused = [&](const std::string& arguments, std::string_view message) {
    CAPTURE(arguments);
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
  };
  refused("plan " + problem + " -o " + problem, "--output: " + problem + " is PROBLEM, too");
  refused("plan " + problem + " -o " + run.path("link.json"), " is PROBLEM, too");
  refused("enumerate " + problem + " -o " + problem, " is PROBLEM, too");
  REQUIRE(run("plan " + problem + " -o " + plan).status == 0);
  const std::string written = *read_file(plan);
  refused("replan " + problem + " " + plan + " -o " + plan, plan + " is PLAN, too");
  refused("explain " + problem + " " + plan + " -o " + plan, plan + " is PLAN, too");
  refused("diff " + plan + " " + plan + " -o " + plan, plan + " is PLAN_A, too");
  CHECK(*read_file(problem) == before);
  CHECK(*read_file(plan) == written);
  CHECK(run("plan " + problem + " --reuse " + plan + " -o " + plan).status == 0);
}

TEST_CASE("command: plan writes a report, JSON to a file, or JSON to standard output") {
  const Command run;
  const Outcome report = run("plan " + kSmall);
  CHECK(report.status == 0);
  CHECK(contains(report.out, "rating 0.007639 ms"));
  const Outcome json = run("plan --json " + kSmall);
  CHECK(json.status == 0);
  REQUIRE(JsonDocument::parse(json.out).ok());
  const Outcome file = run("plan " + kSmall + " -o " + run.path("plan.json"));
  CHECK(file.status == 0);
  CHECK(file.out.empty());
  const auto document = JsonDocument::parse(*read_file(run.path("plan.json")));
  REQUIRE(document.ok());
  CHECK(document->root().find("best_rating")->number().value() == 0.007638750533462235);
  const Outcome dash = run("plan " + kSmall + " -o -");
  CHECK(JsonDocument::parse(dash.out).ok());
}

TEST_CASE("command: standard input serves as a file") {
  const Command run;
  const Outcome plan = run("plan - --json", "zcat " + kSmall + " | ");
  CHECK(plan.status == 0);
  CHECK(JsonDocument::parse(plan.out).ok());
  CHECK(run("plan - --json", "cat " + kSmall + " | ").status == 0);
}

TEST_CASE("command: no feasible plan exits 3 and the JSON says why") {
  const Command run;
  for (const char* name : {"11_nofit_insufficient_2r", "12_nofit_strict_constraints_4r",
                           "13_reservation_negative_hbm"}) {
    CAPTURE(name);
    const Outcome outcome = run("plan --json " + kCases + name + ".json.gz");
    CHECK(outcome.status == 3);
    const auto document = JsonDocument::parse(outcome.out);
    REQUIRE(document.ok());
    CHECK(document->root().find("error").has_value());
    CHECK(document->root().find("timing").has_value());
  }
}

TEST_CASE("command: where memory lacks, the answer says what is needed and promises nothing else") {
  const Command run;
  std::string tables;
  for (int i = 0; i < 19; ++i) {
    tables += std::string(i > 0 ? "," : "") + R"({"name": "t)" + std::to_string(i) +
              R"(", "num_embeddings": 20000000, "embedding_dim": 128})";
  }
  const std::string problem = run.path("problem.json");
  REQUIRE(write_file(problem, R"({"tables": [)" + tables + "]}").ok());
  const Outcome none =
      run("plan " + problem + " --ranks 4 --hbm 47GiB --ddr 1GiB", "COLUMNS=2000 ");
  CHECK(none.status == 3);
  CHECK(contains(none.out, "All tables together do not fit"));
  CHECK(contains(none.out, "Use more ranks or ranks with more memory"));
  CHECK_FALSE(contains(none.out, "may help"));
  CHECK_FALSE(contains(none.out, "placement rules"));
}

TEST_CASE("command: a budget that ends before the first plan exits 4") {
  const Command run;
  const Outcome outcome = run("plan --mode compat --json --work-limit 0 " + kSmall);
  CHECK(outcome.status == 4);
  const auto document = JsonDocument::parse(outcome.out);
  REQUIRE(document.ok());
  CHECK(document->root().find("stopped_by")->string().value() == "work_limit");
  CHECK(contains(outcome.err, "stopped by the work limit before any plan was found"));
  CHECK_FALSE(contains(outcome.err, "shardwright explain"));
}

TEST_CASE("command: verify accepts what plan writes and exits 5 on a false claim") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan " + kSmall + " -o " + plan).status == 0);
  const Outcome valid = run("verify " + kSmall + " " + plan);
  CHECK(valid.status == 0);
  CHECK(contains(valid.out, "valid: "));
  std::string text = *read_file(plan);
  const std::size_t at = text.find("\"best_rating\":0.0") + 16;
  text[at] = '9';
  REQUIRE(write_file(plan, text).ok());
  const Outcome invalid = run("verify " + kSmall + " " + plan);
  CHECK(invalid.status == 5);
  CHECK(contains(invalid.out, "violation: /best_rating: the file says 0.90"));
  const Outcome json = run("verify --json " + kSmall + " " + plan);
  CHECK(json.status == 5);
  const auto document = JsonDocument::parse(json.out);
  REQUIRE(document.ok());
  CHECK_FALSE(document->root().find("valid")->boolean().value());
  CHECK(document->root().find("violations")->size() == 1);
  const std::string answer = kAnswers + "01_small_2t_2r_default.json.gz";
  CHECK(run("verify " + kSmall + " " + answer + " --search-space " + answer).status == 0);
}

TEST_CASE("command: a search space from enumerate plans like the problem itself, in both forms") {
  const Command run;
  const std::string expanded = run.path("expanded.json");
  const std::string runs = run.path("runs.json");
  REQUIRE(run("enumerate " + kSmall + " -o " + expanded).status == 0);
  REQUIRE(run("enumerate --runs " + kSmall + " -o " + runs).status == 0);
  CHECK(read_file(runs)->size() < read_file(expanded)->size());
  CHECK(contains(run("enumerate " + kSmall).out, "32 sharding options"));
  const auto plan_of = [&](const std::string& arguments) {
    const Outcome outcome =
        run("plan --mode compat --json --trace --emit-search-space " + kSmall + arguments);
    REQUIRE(outcome.status == 0);
    // Times differ between runs, and costs from a file change the problem's hash.
    std::string text = outcome.out;
    for (const char* const key : {"\"problem_hash\"", "\"timing\""}) {
      const std::size_t begin = text.find(key);
      REQUIRE(begin != std::string::npos);
      text.erase(begin, text.find('}', begin) - begin);
    }
    return text;
  };
  const std::string plain = plan_of("");
  CHECK(plan_of(" --search-space " + expanded) == plain);
  CHECK(plan_of(" --search-space " + runs) == plain);
}

TEST_CASE("command: verify tells options of one type and kernel apart by their shards") {
  const Command run;
  const std::string files = "tests/golden/embedding/spaces/two_cuts";
  const std::string space = " --search-space " + files + ".search_space.json.gz ";
  const std::string problem = files + ".problem.json.gz ";
  REQUIRE(run("plan " + problem + space + "--mode compat -o " + run.path("plan.json")).status == 0);
  const Outcome verified = run("verify " + problem + run.path("plan.json") + space);
  CHECK_MESSAGE(verified.status == 0, verified.out);
}

TEST_CASE("command: topology flags override a workload") {
  const Command run;
  const Outcome outcome =
      run("plan samples/data/mlperf_dlrm_dcnv2.json --ranks 16 --ranks-per-host 8 --hbm 80GiB "
          "--batch-size 1024 --json --work-limit 100");
  const auto document = JsonDocument::parse(outcome.out);
  REQUIRE_MESSAGE(document.ok(), outcome.err);
  const auto reserved = document->root().find("reserved_topology");
  REQUIRE(reserved.has_value());
  CHECK(reserved->find("world_size")->integer().value() == 16);
}

TEST_CASE("command: verbose writes to standard error only") {
  const Command run;
  const Outcome outcome = run("plan -v --json " + kSmall);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.err, "read 2 tables, 2 ranks"));
  CHECK(contains(outcome.err, "published "));
  CHECK(contains(outcome.err, " shared, "));
  CHECK(JsonDocument::parse(outcome.out).ok());
  CHECK(run("plan --json " + kSmall).err.empty());
}

TEST_CASE("command: compat mode refuses placement rules, and verify checks them") {
  const Command run;
  const std::string tables = R"({"topology": {"world_size": 2}, "tables": [
    {"name": "a", "num_embeddings": 1000, "embedding_dim": 4},
    {"name": "b", "num_embeddings": 1000, "embedding_dim": 4}])";
  REQUIRE(write_file(run.path("free.json"), tables + "}").ok());
  REQUIRE(write_file(run.path("ruled.json"),
                     tables + R"(, "constraints": {"a": {"max_shards": 1, "ranks": [1]},
                                                   "b": {"max_shards": 1, "ranks": [1]}},
                                 "keep_apart": [["a", "b"]]})")
              .ok());
  const Outcome impossible = run("verify " + run.path("ruled.json") + " " + kSmall);
  CHECK(impossible.status == 2);
  CHECK(contains(impossible.err, "ruled.json: /keep_apart/0: "));
  REQUIRE(write_file(run.path("ruled.json"),
                     tables + R"(, "constraints": {"a": {"ranks": [1]}, "b": {"ranks": [0]}},
                                 "keep_apart": [["a", "b"]]})")
              .ok());
  const Outcome refused = run("plan --mode compat " + run.path("ruled.json"));
  CHECK(refused.status == 2);
  CHECK(refused.out.empty());
  CHECK(contains(refused.err, "ruled.json: /constraints/a/ranks: compat mode"));
  CHECK(contains(refused.err, "best mode"));
  REQUIRE(
      run("plan --mode compat " + run.path("free.json") + " -o " + run.path("plan.json")).status ==
      0);
  CHECK(run("verify " + run.path("free.json") + " " + run.path("plan.json")).status == 0);
  const Outcome broken = run("verify " + run.path("ruled.json") + " " + run.path("plan.json"));
  CHECK(broken.status == 5);
  CHECK(contains(broken.out, "violation: /plan: "));
}

TEST_CASE("command: program apply prunes a startup program for every rank") {
  const Command run;
  const std::string mesh = R"("meshes": [{"shape": [1], "ids": [0]}, {"shape": [1], "ids": [1]}])";
  const std::string vars = R"("vars": [
    {"name": "a", "full_shape": [4], "mesh": 0, "dims_mapping": [-1]},
    {"name": "b", "full_shape": [4], "mesh": 1, "dims_mapping": [-1]}])";
  REQUIRE(write_file(run.path("main"), "{" + mesh + ", " + vars + R"(, "ops": [
    {"type": "reads", "mesh": 0, "inputs": [{"var": "a", "dims_mapping": [-1]}]},
    {"type": "reads", "mesh": 1, "inputs": [{"var": "b", "dims_mapping": [-1]}]}]})")
              .ok());
  REQUIRE(write_file(run.path("startup"), "{" + mesh + ", " + vars + R"(, "ops": [
    {"type": "init_a", "mesh": 0, "outputs": [{"var": "a", "dims_mapping": [-1]}]},
    {"type": "init_b", "mesh": 1, "outputs": [{"var": "b", "dims_mapping": [-1]}]}]})")
              .ok());
  const std::string files = run.path("main") + " --startup " + run.path("startup");
  const Outcome both = run("program apply --json --full " + files);
  REQUIRE(both.status == 0);
  const auto document = JsonDocument::parse(both.out);
  REQUIRE(document.ok());
  const auto ranks = *document->root().find("programs")->operator[](0).find("ranks");
  REQUIRE(ranks.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto ops = *ranks[i].find("startup")->find("ops");
    REQUIRE(ops.size() == 1);
    CHECK(ops[0].find("type")->string().value() == (i == 0 ? "init_a" : "init_b"));
  }
  CHECK(run("program apply --json " + files).status == 2);
  REQUIRE(write_file(run.path("startup"), R"({"programs": []})").ok());
  CHECK(contains(run("program apply --full " + files).err, "as many as there are main programs"));
}

}  // namespace shardwright::command_test
