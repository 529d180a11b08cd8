// What happens when a process of mpirun dies or hangs.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/mpi_command.h"

namespace shardwright::mpi_fault_test {

namespace {

using nlohmann::json;
using test_support::Command;
using test_support::CommandOutcome;
using test_support::contains;
using test_support::hard_instance;
using test_support::mpirun;
using test_support::pids_of;
using test_support::wait_for;

constexpr int kProcesses = 3;
// The proof of this case takes very long.
const std::string kLong =
    "tests/golden/embedding/cases/42_big_1000t_128r_greedy_twcw_nofit.json.gz";

double rating_of(const json& answer) { return answer["best_rating"].get<double>(); }
double bound_of(const json& answer) {
  return answer["lower_bound"].is_number() ? answer["lower_bound"].get<double>() : 0;
}

// A search that takes long. The file `sign` gets a line once there is an answer to lose.
struct LongRun {
  std::string arguments;
  std::string sign;
};

LongRun long_plan(const Command& run) {
  const std::string checkpoint = run.path("checkpoint.json");
  return {"plan " + kLong + " --time-limit 100 --threads 1 --checkpoint " + checkpoint + " -o " +
              run.path("answer.json"),
          checkpoint};
}

LongRun long_solve(const Command& run) {
  return {
      "operators solve --format iopddl-contest " + hard_instance(run, 6'000) + " 100 --threads 1",
      run.path("out")};
}

struct Fault {
  CommandOutcome outcome;
  double seconds = 0;  // from the signal to the end of the command
};

// Waits for the sign and sends the signal to one process.
Fault fault(const Command& run, const LongRun& command, int process, int signal) {
  std::filesystem::remove(command.sign);
  const std::string tag = run.folder().filename().string() + "_" + std::to_string(signal);
  std::chrono::steady_clock::time_point sent;
  std::jthread killer([&](const std::stop_token& done) {
    wait_for(command.sign, "\n", done);
    const pid_t pid = pids_of(tag, kProcesses)[static_cast<std::size_t>(process)];
    sent = std::chrono::steady_clock::now();
    if (pid > 0) kill(pid, signal);
  });
  Fault found;
  found.outcome = run(command.arguments, "SHARDWRIGHT_TEST_TAG=" + tag + " " + mpirun(kProcesses));
  const auto ended = std::chrono::steady_clock::now();
  killer.request_stop();
  killer.join();
  found.seconds = std::chrono::duration<double>(ended - sent).count();
  return found;
}

void check_ended(const Fault& found, int process) {
  INFO(found.outcome.err);
  CHECK(found.outcome.status != 0);
  CHECK(found.seconds < 10);
  CHECK(contains(found.outcome.err, "process " + std::to_string(process) + " of " +
                                        std::to_string(kProcesses) + " (pid "));
  CHECK(contains(found.outcome.err, "does not answer: it has died or hangs"));
}

}  // namespace

TEST_CASE("mpi: a process that is killed or hangs ends all, and the best plan is kept") {
  const Command run;
  for (const int process : {0, 1}) {
    for (const int signal : {SIGKILL, SIGSTOP}) {
      CAPTURE(process);
      CAPTURE(signal);
      const LongRun command = long_plan(run);
      check_ended(fault(run, command, process, signal), process);
      const json kept = json::parse(*read_file(command.sign));
      CHECK(run("verify " + kLong + " " + command.sign).status == 0);
      const CommandOutcome resumed =
          run("plan " + kLong + " --work-limit 100000 --resume " + command.sign + " --json");
      REQUIRE(resumed.status == 0);
      const json answer_then = json::parse(resumed.out);
      CHECK(rating_of(answer_then) <= rating_of(kept));
      CHECK(bound_of(answer_then) >= bound_of(kept));
      if (process == 0) continue;
      // The first process survives and writes the best plan so far.
      const json answer = json::parse(*read_file(run.path("answer.json")));
      CHECK(answer["stopped_by"] == "cancelled");
      CHECK(rating_of(answer) <= rating_of(kept));
      CHECK(run("verify " + kLong + " " + run.path("answer.json")).status == 0);
    }
  }
}

TEST_CASE("mpi: a solver that is killed or hangs ends all, and the choices so far were printed") {
  const Command run;
  for (const int process : {0, 1}) {
    for (const int signal : {SIGKILL, SIGSTOP}) {
      CAPTURE(process);
      CAPTURE(signal);
      const Fault found = fault(run, long_solve(run), process, signal);
      check_ended(found, process);
      const std::string& out = found.outcome.out;
      REQUIRE(contains(out, "]\n"));
      const std::size_t end = out.rfind("]\n");
      const std::size_t begin = out.rfind('[', end);
      CHECK(json::parse(out.substr(begin, end + 1 - begin)).size() == 6'000);
    }
  }
}

}  // namespace shardwright::mpi_fault_test
