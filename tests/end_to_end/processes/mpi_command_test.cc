// The command as mpirun starts it: the bytes of one process.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/version.h"
#include "runtime/execution/processes/link_library.h"
#include "tests/support/command.h"
#include "tests/support/mpi_command.h"

namespace shardwright::mpi_command_test {

namespace {

using nlohmann::json;
using test_support::Command;
using test_support::CommandOutcome;
using test_support::contains;
using test_support::cut_member;
using test_support::hard_instance;
using test_support::mpirun;
using test_support::pids_of;
using test_support::wait_for;

const std::string kProblem = "tests/golden/embedding/cases/09_mixed_default_20t_16r_2h.json.gz";
// Shorter than the silence that counts as a loss, and longer than one that a process notices.
constexpr std::chrono::milliseconds kStandsStill(2'000);

// The answer without what differs from run to run.
std::string lasting(const std::string& path) {
  std::string text = *read_file(path);
  text.erase(text.find("\"timing\""));
  cut_member(text, "threads");
  return text;
}

}  // namespace

TEST_CASE("mpi: any number of processes writes the bytes of one") {
  const Command run;
  for (const std::string mode : {"--lanes 8 --work-limit 6000000", "--seed 5 --work-limit 6000000",
                                 "--mode compat --trace"}) {
    CAPTURE(mode);
    const std::string arguments = "plan - " + mode + " --threads ";
    const std::string input = "cat " + kProblem + " | ";
    const std::string alone = run.path("alone.json");
    REQUIRE(run(arguments + "1 -o " + alone, input).status == 0);
    for (const int processes : {1, 2, 4}) {
      CAPTURE(processes);
      const std::string answer = run.path("answer.json");
      const std::string threads = std::to_string(1 + processes % 2);
      const CommandOutcome outcome =
          run(arguments + threads + " -v -o " + answer, input + mpirun(processes));
      REQUIRE(outcome.status == 0);
      const bool same = lasting(answer) == lasting(alone);
      CHECK(same);
      CHECK(contains(outcome.err, "bytes to other processes in ") == (processes > 1));
    }
  }
}

TEST_CASE("mpi: problems of a batch and machines of a sweep are dealt out, with the bytes of one") {
  const Command run;
  const std::string cases = "tests/golden/embedding/cases/";
  const std::string batch = "plan --batch " + kProblem + " " + cases +
                            "11_nofit_insufficient_2r.json.gz nowhere.json " + cases +
                            "03_tw_only_12t_8r.json.gz --work-limit 1000000 --threads 1";
  const std::string sweep =
      "sweep samples/data/mlperf_dlrm_dcnv2.json --ranks 2,8,16 "
      "--hbm 20GiB,80GiB --work-limit 300000 --threads 1 --json";
  const auto without_times = [](const std::string& text) {
    std::string lasting;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      lasting += line.substr(0, line.find("\"timing\":")) + "\n";
    return lasting;
  };
  for (const std::string& command : {batch, sweep}) {
    const CommandOutcome alone = run(command);
    REQUIRE(alone.out.size() > 1000);
    for (const int processes : {2, 4}) {
      CAPTURE(processes);
      const CommandOutcome outcome = run(command, mpirun(processes));
      CHECK(outcome.status == alone.status);
      const bool same = without_times(outcome.out) == without_times(alone.out);
      CHECK(same);
    }
  }
}

TEST_CASE("mpi: what is wrong is said once") {
  const Command run;
  const CommandOutcome outcome = run("plan nowhere.json", mpirun(4));
  CHECK(outcome.status == 2);
  const std::size_t first = outcome.err.find("nowhere.json: cannot open");
  REQUIRE(first != std::string::npos);
  CHECK(outcome.err.find("nowhere.json: cannot open", first + 1) == std::string::npos);
}

TEST_CASE("mpi: one process chooses the layout of a machine, with the bytes of one") {
  const Command run;
  const std::string arguments =
      "plan samples/data/mlperf_dlrm_dcnv2.json --ranks 16 "
      "--ranks-per-host 8 --hbm 80GiB --sharding-group-size any "
      "--work-limit 2000000 --threads 1 -o ";
  REQUIRE(run(arguments + run.path("alone.json")).status == 0);
  REQUIRE(run(arguments + run.path("answer.json"), mpirun(2)).status == 0);
  const bool same = lasting(run.path("answer.json")) == lasting(run.path("alone.json"));
  CHECK(same);
}

TEST_CASE("mpi: a process that stands still for a while is waited for, with the bytes of one") {
  const Command run;
  const std::string arguments = "plan " + kProblem + " --work-limit 30000000 --threads 1 -v ";
  REQUIRE(run(arguments + "-o " + run.path("alone.json")).status == 0);
  const std::string sign = run.path("err");
  const std::string tag = run.folder().filename().string() + "_slow";
  std::atomic<bool> has_stood_still{false};
  std::jthread stopper([&](const std::stop_token& done) {
    wait_for(sign, " fit", done);
    const pid_t pid = pids_of(tag, 2)[1];
    if (pid <= 0) return;
    kill(pid, SIGSTOP);
    std::this_thread::sleep_for(kStandsStill);
    has_stood_still = kill(pid, SIGCONT) == 0 && !done.stop_requested();
  });
  std::filesystem::remove(sign);
  const CommandOutcome outcome = run(arguments + "-o " + run.path("answer.json"),
                                     "SHARDWRIGHT_TEST_TAG=" + tag + " " + mpirun(2));
  stopper.request_stop();
  stopper.join();
  CHECK(has_stood_still);
  REQUIRE(outcome.status == 0);
  const bool same = lasting(run.path("answer.json")) == lasting(run.path("alone.json"));
  CHECK(same);
}

TEST_CASE("mpi: processes of two versions are told so at the start") {
  const Command run;
  // A copy of the command and its library that say another version.
  const std::filesystem::path original(std::getenv("SHARDWRIGHT_COMMAND"));
  const std::string version(library_version());
  std::string other = version;
  other.back() = other.back() == '9' ? '8' : '9';
  const auto copy = [&](const std::filesystem::path& from) {
    std::string bytes = *read_file(from.string());
    for (std::size_t at = bytes.find(version); at != std::string::npos;
         at = bytes.find(version, at + 1))
      bytes.replace(at, version.size(), other);
    const std::filesystem::path to = run.folder() / from.filename();
    REQUIRE(write_file(to.string(), bytes).ok());
    std::filesystem::permissions(to, std::filesystem::perms::owner_all);
    return to.string();
  };
  copy(original.parent_path() / kLinkLibrary);
  const std::string arguments = " plan " + kProblem + " --work-limit 1000 ";
  const CommandOutcome outcome = run(arguments, mpirun(1) + copy(original) + arguments + ": -n 1 ");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, "is of version " + version));
  CHECK(contains(outcome.err, "of " + other));
}

TEST_CASE("mpi: any number of processes solves an instance with the bytes of one") {
  const Command run;
  const std::string instance = hard_instance(run, 4'000);
  const std::string arguments = "operators solve " + instance + " --work-limit 40000000 --threads ";
  const auto lasting_solution = [&](const std::string& path) {
    json found = json::parse(*read_file(path));
    for (const char* const own : {"solve_seconds", "seconds", "threads"})
      found.erase(own);
    return found.dump();
  };
  REQUIRE(run(arguments + "1 -o " + run.path("alone.json")).status == 0);
  const std::string alone = lasting_solution(run.path("alone.json"));
  for (const int processes : {1, 2, 4}) {
    CAPTURE(processes);
    const std::string threads = std::to_string(1 + processes % 2);
    const CommandOutcome outcome =
        run(arguments + threads + " -v -o " + run.path("answer.json"), mpirun(processes));
    REQUIRE(outcome.status == 0);
    const bool same = lasting_solution(run.path("answer.json")) == alone;
    CHECK(same);
    CHECK(contains(outcome.err, "bytes to other processes in ") == (processes > 1));
  }
}

}  // namespace shardwright::mpi_command_test
