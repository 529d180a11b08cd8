// Meaningless values of options are refused, and no output text can control the terminal.
#include <algorithm>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/text/printable.h"
#include "runtime/io/file.h"
#include "runtime/report/text/format.h"
#include "tests/support/command.h"

namespace shardwright::values_and_text_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

const std::string kProblem = "samples/data/mlperf_dlrm_dcnv2.json --ranks 16 ";

// Returns true if the text is UTF-8 without control characters (except line breaks) or
// bidirectional marks.
bool is_safe(std::string_view text) {
  std::string lines(text);
  std::replace(lines.begin(), lines.end(), '\n', ' ');
  return printable(lines) == lines;
}

// A problem with one table. `name` is its name as JSON writes it.
std::string problem_of(const std::string& name) {
  return R"({"name": ")" + name + R"(", "batch_size": 64, "topology": {"world_size": 2},
    "tables": [{"name": ")" +
         name + R"(", "num_embeddings": 1000, "embedding_dim": 16},
               {"name": "other", "num_embeddings": 1000, "embedding_dim": 16}]})";
}

}  // namespace

TEST_CASE("values: a number that is none, or none that fits, is refused with its flag") {
  const Command run;
  for (const char* flag :
       {"--seed", "--work-limit", "--ranks", "--ranks-per-host", "--batch-size", "--threads"}) {
    for (const char* value : {"-1", "18446744073709551616", "99999999999999999999999", "1e3",
                              "' 1'", "'1 '", "0x10", "1.5", "''", "+1", "nan", "two"}) {
      CAPTURE(flag);
      CAPTURE(value);
      const CommandOutcome outcome = run("plan " + kProblem + std::string(flag) + "=" + value);
      CHECK(outcome.status == 2);
      CHECK_MESSAGE(contains(outcome.err, flag), outcome.err);
      CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
  }
  for (const char* value : {"nan", "inf", "-1", "''", "' 1'"}) {
    CHECK(run("plan " + kProblem + "--time-limit " + value).status == 2);
    CHECK(run("replan " + kProblem + "x.json --migration-weight " + value).status == 2);
  }
  CHECK(run("sweep samples/data/mlperf_dlrm_dcnv2.json --ranks 8,-1").status == 2);
  CHECK(run("sweep samples/data/mlperf_dlrm_dcnv2.json --ranks 8,1e1").status == 2);
  CHECK(run("operators solve samples/data/resnet50.json.gz --seed -1").status == 2);
  CHECK(run("operators autoshard samples/data/autoshard_mlp.json --devices 1e1").status == 2);
  // A leading zero does not make a number octal.
  const CommandOutcome ten =
      run("plan samples/data/mlperf_dlrm_dcnv2.json --work-limit 1000 --hbm 80GiB --ranks 010 "
          "--ranks-per-host 010");
  CHECK_MESSAGE(contains(ten.out, "on 10 ranks"), ten.out);
}

TEST_CASE("values: an empty value is refused with its flag") {
  const Command run;
  for (const char* flag : {"--hbm", "--ddr", "--ssd", "--device", "--mode", "--search-space",
                           "--reuse", "--report", "--output"}) {
    CAPTURE(flag);
    const CommandOutcome outcome = run("plan " + kProblem + std::string(flag) + " ''");
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(contains(outcome.err, flag), outcome.err);
    CHECK(contains(outcome.err, "must not be empty"));
  }
  CHECK(run("operators solve samples/data/resnet50.json.gz --budget ''").status == 2);
  CHECK(run("explain " + kProblem + "--table ''").status == 2);
}

TEST_CASE("text: names cannot command the terminal, in reports and in errors") {
  const Command run;
  const std::string problem = run.path("problem.json"), plan = run.path("plan.json");
  for (const char* name : {"a\\u001b[31mb", "a\\nb", "a\\r\\tb", "a\\u202eb\\u2066",
                           "a\\u009bb\\u007f", "a\\u2028b\\u061c\\u200f"}) {
    CAPTURE(name);
    REQUIRE(write_file(problem, problem_of(name)).ok());
    REQUIRE(run("plan " + problem + " --work-limit 1000 -o " + plan).status == 0);
    const std::string two = problem + " " + plan;
    for (const std::string& line :
         {"plan " + problem + " --work-limit 1000 --stats -v", "explain " + two,
          "explain " + problem + " --hbm 1MiB --ddr 1MiB --work-limit 1000", "verify " + two,
          "replan " + two + " --work-limit 1000", "diff " + plan + " " + plan,
          "sweep " + problem + " --ranks 1,2 --work-limit 1000",
          "explain " + two + " --table nothing", "plan " + problem + " --hbm 1MiB --ddr 1MiB"}) {
      const CommandOutcome outcome = run(line);
      CAPTURE(line);
      CHECK_MESSAGE(is_safe(outcome.out), outcome.out);
      CHECK_MESSAGE(is_safe(outcome.err), outcome.err);
      // A line break in the name does not begin a new line.
      CHECK_FALSE(contains(outcome.out, "a\nb"));
    }
  }
  const CommandOutcome report = run("plan " + problem + " --work-limit 1000 --json");
  CHECK(report.status == 0);
}

TEST_CASE("text: what was typed is echoed escaped") {
  const Command run;
  for (const char* line : {"plan --\x1b[31mx", "'\x1b]0;title\x07'", "plan a --mode '\x1b[2J'",
                           "plan '\xe2\x80\xae.json'", "plan '\xff\xfe'", "plan 'a\nb'",
                           "plan a b '\x1b[31m'", "plan a --threads '\x1b[31m'"}) {
    const CommandOutcome outcome = run(line);
    CAPTURE(line);
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(is_safe(outcome.err), outcome.err);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
}

TEST_CASE("text: columns stay in line below wide and combined characters") {
  const Command run;
  const std::string problem = run.path("problem.json");
  const std::string name = "\u5e83\u544a\U0001F525e\u0301";  // columns: two, two, two, one
  CHECK(display_width(name) == 7);
  REQUIRE(write_file(problem, problem_of(name)).ok());
  const CommandOutcome outcome = run("plan " + problem + " --work-limit 1000");
  REQUIRE(outcome.status == 0);
  const auto column_of = [&](const std::string& table) {
    const std::size_t begin = outcome.out.rfind("\n  " + table) + 1;
    REQUIRE(begin != 0);
    const std::string line = outcome.out.substr(begin, outcome.out.find('\n', begin) - begin);
    return display_width(line);
  };
  CHECK(column_of(name) == column_of("other"));
  CHECK(cut_to(name, 4) == "\u5e83…");
}

}  // namespace shardwright::values_and_text_test
