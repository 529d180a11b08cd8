// The command under mpirun: it writes the best plan of its processes, always with the same bytes.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <limits>
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
// After little work, different seeds find different plans.
const std::string kHard = "tests/golden/embedding/cases/36_mid_100t_16r_2h_default.json.gz";
// A process notices a silence of this length, but does not count it as the loss of another process.
constexpr std::chrono::milliseconds kStandsStill(2'000);

// Returns the answer without the members that differ between runs.
std::string lasting(const std::string& path) {
  std::string text = *read_file(path);
  text.erase(text.find("\"timing\""));
  cut_member(text, "threads");
  return text;
}

}  // namespace

TEST_CASE("mpi: the plan is the best one of the processes' seeds, the bytes are always the same") {
  const Command run;
  const std::string input = "cat " + kHard + " | ";
  const auto answer_of = [&](const std::string& arguments, const std::string& launcher) {
    const std::string answer = run.path("answer.json");
    REQUIRE(run("plan - " + arguments + " -o " + answer, input + launcher).status == 0);
    return lasting(answer);
  };
  const auto rating_of = [](const std::string& answer) {
    const std::string key = "\"best_rating\":";
    return std::stod(answer.substr(answer.find(key) + key.size()));
  };
  const std::string limits = "--work-limit 3000000 --seed ";
  double least = std::numeric_limits<double>::infinity();
  double first = 0;
  for (const int processes : {1, 2, 4}) {
    CAPTURE(processes);
    for (int seed = processes / 2; seed < processes; ++seed)
      least = std::min(least, rating_of(answer_of(limits + std::to_string(5 + seed), "")));
    const std::string found = answer_of(limits + "5 --threads 1", mpirun(processes));
    CHECK(rating_of(found) == least);
    if (processes == 1) first = least;
    CHECK((least < first) == (processes > 1));
    for (const std::string threads : {"1", "2"}) {
      const bool same = answer_of(limits + "5 --threads " + threads, mpirun(processes)) == found;
      CHECK(same);
    }
  }
  for (const std::string& arguments : {limits + "5", std::string("--mode compat --trace")}) {
    const int processes = arguments == limits + "5" ? 1 : 3;
    const bool same = answer_of(arguments, mpirun(processes)) == answer_of(arguments, "");
    CHECK(same);
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

TEST_CASE("mpi: a process that stands still for a while is waited for, with the same bytes") {
  const Command run;
  const std::string arguments = "plan " + kProblem + " --work-limit 30000000 --threads 1 -v ";
  REQUIRE(run(arguments + "-o " + run.path("usual.json"), mpirun(2)).status == 0);
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
  const bool same = lasting(run.path("answer.json")) == lasting(run.path("usual.json"));
  CHECK(same);
}

TEST_CASE("mpi: processes of two versions are told so at the start") {
  const Command run;
  // Makes a copy of the command and its library with another version number.
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

TEST_CASE("mpi: processes solve an instance, no worse than one and always with the same bytes") {
  const Command run;
  const std::string arguments =
      "operators solve " + hard_instance(run, 4'000) + " --work-limit 20000000 --threads ";
  const auto solution_of = [&](const std::string& threads, const std::string& launcher) {
    const std::string answer = run.path("answer.json");
    REQUIRE(run(arguments + threads + " -o " + answer, launcher).status == 0);
    json found = json::parse(*read_file(answer));
    for (const char* const own : {"solve_seconds", "seconds", "threads"})
      found.erase(own);
    return found;
  };
  const json alone = solution_of("1", "");
  CHECK(solution_of("2", mpirun(1)) == alone);
  const json found = solution_of("1", mpirun(3));
  CHECK(found["objective"] <= alone["objective"]);
  CHECK(found["lower_bound"] >= alone["lower_bound"]);
  CHECK(solution_of("2", mpirun(3)) == found);
}

}  // namespace shardwright::mpi_command_test
