// A launcher starts the command several times, but the MPI library is missing.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/command.h"

namespace shardwright::launch_test {

namespace {

using test_support::Command;
using test_support::CommandOutcome;
using test_support::contains;

const std::string kProblem = "tests/golden/embedding/cases/16_sequence_and_pooled_8r.json.gz";

// Returns the environment variables that mpirun gives to a process of two.
std::string launched(int process) {
  return "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=" + std::to_string(process) + " ";
}

// Makes a copy of the command the one that tests run. Thread safety: one thread at a time.
class CopiedCommand {
 public:
  explicit CopiedCommand(const std::string& path) : original_(std::getenv(kVariable)) {
    std::filesystem::copy_file(original_, path);
    setenv(kVariable, path.c_str(), 1);
  }
  CopiedCommand(const CopiedCommand&) = delete;
  CopiedCommand& operator=(const CopiedCommand&) = delete;
  ~CopiedCommand() { setenv(kVariable, original_.c_str(), 1); }

 private:
  static constexpr const char* kVariable = "SHARDWRIGHT_COMMAND";
  std::string original_;
};

}  // namespace

TEST_CASE("launch: a build that cannot link processes refuses to be started twice") {
  const Command run;
  const CopiedCommand away_from_the_library(run.path("alone"));
  const std::string answer = run.path("answer.json");
  for (const int process : {0, 1}) {
    CAPTURE(process);
    const CommandOutcome refused = run("plan " + kProblem + " -o " + answer, launched(process));
    CHECK(refused.status == 2);
    CHECK_FALSE(std::filesystem::exists(answer));
    CHECK(contains(refused.err, "started 2 processes, but") == (process == 0));
    CHECK(refused.err.empty() == (process == 1));
  }
}

TEST_CASE("launch: the first process alone runs a command that needs no others") {
  const Command run;
  const CommandOutcome first = run("enumerate " + kProblem + " --json", launched(0));
  CHECK(first.status == 0);
  CHECK(contains(first.out, "search_space_size"));
  const CommandOutcome second = run("enumerate " + kProblem + " --json", launched(1));
  CHECK(second.status == 0);
  CHECK(second.out.empty());
}

TEST_CASE("launch: the first process alone says what is wrong") {
  const Command run;
  for (const char* const wrong : {"enumerate nowhere.json", "enumerat x", "plan x --lanes 2"}) {
    CAPTURE(std::string(wrong));
    const CommandOutcome first = run(wrong, launched(0));
    CHECK(first.status == 2);
    CHECK_FALSE(first.err.empty());
    CHECK(run(wrong, launched(1)).err.empty());
  }
}

}  // namespace shardwright::launch_test
