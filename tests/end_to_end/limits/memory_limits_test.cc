// If memory or threads run out, the command ends with one sentence and status 7, or succeeds with
// less. It keeps files that existed before.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/io/file.h"
#include "tests/end_to_end/limits/child_process.h"
#include "tests/support/command.h"

namespace shardwright::memory_limits_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

constexpr rlim_t kMebi = rlim_t{1} << 20;
// With less memory the dynamic loader cannot map the libraries, and prints its own error.
constexpr rlim_t kLoaderNeeds = 36 * kMebi;
constexpr int kMachineLimit = 7;
constexpr int kLoaderFailed = 127;

using Line = std::vector<std::string>;

Line operator+(Line line, const Line& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

const Line kProblem{"samples/data/mlperf_dlrm_dcnv2.json",
                    "--ranks",
                    "16",
                    "--ranks-per-host",
                    "8",
                    "--hbm",
                    "80GiB"};
const Line kLittleWork{"--work-limit", "100000"};

// Runs the command under limits. Checks that it succeeds, or ends with status 7 and one sentence.
void check_limited(const Command& folder, const Line& line, const ResourceLimits& limits,
                   bool loads = true) {
  const std::string out = folder.path("out"), err = folder.path("err");
  const std::string answer = folder.path("answer.json");
  REQUIRE(write_file(answer, "old").ok());
  const int status = ChildProcess(line + Line{"-o", answer}, out, err, limits).wait();
  const std::string said = read_file(err).value();
  CAPTURE(limits.front().second / kMebi);
  CAPTURE(line.front());
  CAPTURE(said);
  if (!loads && status == kLoaderFailed) return;
  const std::string left = read_file(answer).value();
  if (status == 0) {
    CHECK(left.starts_with("{"));
    return;
  }
  CHECK(status == kMachineLimit);
  CHECK(left == "old");
  CHECK(said.starts_with("shardwright: "));
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
}

std::vector<Line> commands(const Command& folder) {
  const std::string plan = folder.path("plan.json");
  REQUIRE(
      folder("plan samples/data/mlperf_dlrm_dcnv2.json --ranks 16 --ranks-per-host 8 --hbm 80GiB "
             "--work-limit 100000 -o " +
             plan)
          .status == 0);
  const std::string instance = folder.path("instance.json");
  REQUIRE(
      folder("operators build samples/data/resnet50.json.gz --mesh 2x2 -o " + instance).status ==
      0);
  const Line with_plan = Line{kProblem.front(), plan} + Line(kProblem.begin() + 1, kProblem.end());
  return {Line{"plan"} + kProblem + kLittleWork,
          Line{"plan", "--mode", "compat"} + kProblem,
          Line{"replan"} + with_plan + kLittleWork,
          Line{"verify"} + with_plan,
          Line{"explain"} + with_plan + Line{"--table", "cat_0"},
          Line{"sweep", kProblem.front(), "--ranks", "8,16"} + kLittleWork,
          Line{"operators", "solve", instance},
          Line{"program", "apply", "samples/data/program.json", "--full"}};
}

}  // namespace

TEST_CASE("memory: any limit of address space or data ends in an answer or in status 7") {
  const Command folder;
  const std::vector<Line> lines = commands(folder);
  for (const int resource : {RLIMIT_AS, RLIMIT_DATA}) {
    for (rlim_t mebi = 24; mebi <= 400; mebi += mebi < 120 ? 8 : 56) {
      const rlim_t bytes = mebi * kMebi;
      // Takes the commands in turn, with one, two and eight threads.
      for (const std::size_t threads : {1U, 2U, 8U}) {
        const Line& line = lines[(mebi / 8 + threads) % lines.size()];
        check_limited(folder, line + Line{"--threads", std::to_string(threads)},
                      {{resource, bytes}}, resource == RLIMIT_DATA || bytes >= kLoaderNeeds);
      }
    }
  }
}

TEST_CASE("memory: where no thread can be started, the command uses the one that it has") {
  namespace fs = std::filesystem;
  const Command folder;
  fs::permissions(folder.folder(), fs::perms::all);
  const std::string answer = folder.path("answer.json");
  const std::string out = folder.path("out"), err = folder.path("err");
  const Line line = Line{"plan"} + kProblem + kLittleWork + Line{"--threads", "8", "-o", answer};
  const auto rating = [&] {
    const std::string text = read_file(answer).value();
    const std::size_t at = text.find("\"rating\":");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find(',', at) - at);
  };
  REQUIRE(ChildProcess(line, out, err).wait() == 0);
  const std::string expected = rating();
  fs::remove(answer);
  const int status = ChildProcess(line, out, err, {{RLIMIT_NPROC, 1}}).wait();
  const std::string said = read_file(err).value();
  CAPTURE(said);
  REQUIRE(status == 0);
  CHECK(rating() == expected);
}

}  // namespace shardwright::memory_limits_test
