// The command as mpirun starts it: the bytes of one process, and what happens when one dies or
// hangs.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/version.h"
#include "runtime/execution/processes/link_library.h"
#include "tests/support/command.h"
#include "tests/support/operators/random_cost_instance.h"

namespace shardwright::mpi_command_test {

namespace {

using nlohmann::json;
using test_support::Command;
using test_support::CommandOutcome;
using test_support::contains;
using test_support::cut_member;

const std::string kProblem = "tests/golden/embedding/cases/09_mixed_default_20t_16r_2h.json.gz";
// Shorter than the silence that counts as a loss, and longer than one that a process notices.
constexpr std::chrono::milliseconds kStandsStill(2'000);
// Not proved for a long time.
const std::string kLong = "tests/golden/embedding/cases/36_mid_100t_16r_2h_default.json.gz";

// Runs on one host, also in a container: as root, without ssh, with more processes than cores.
std::string mpirun(int processes) {
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated "
         "OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none "
         "mpirun --oversubscribe --bind-to none -n " +
         std::to_string(processes) + " ";
}

// The answer without what differs from run to run.
std::string lasting(const std::string& path) {
  std::string text = *read_file(path);
  text.erase(text.find("\"timing\""));
  cut_member(text, "threads");
  return text;
}

// Processes whose environment names the file, by number.
std::vector<pid_t> pids_of(const std::string& tag, int processes) {
  std::vector<pid_t> found(static_cast<std::size_t>(processes), 0);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "environ");
    const std::string environment((std::istreambuf_iterator<char>(file)), {});
    if (!contains(environment, "SHARDWRIGHT_TEST_TAG=" + tag)) continue;
    for (int process = 0; process < processes; ++process) {
      const std::string rank = "OMPI_COMM_WORLD_RANK=" + std::to_string(process);
      if (contains(environment, rank + '\0'))
        found[static_cast<std::size_t>(process)] = std::atoi(entry.path().filename().c_str());
    }
  }
  return found;
}

double rating_of(const json& answer) { return answer["best_rating"].get<double>(); }
double bound_of(const json& answer) {
  return answer["lower_bound"].is_number() ? answer["lower_bound"].get<double>() : 0;
}

// A search that takes long, and the file that has a text once there is something to lose.
struct LongRun {
  std::string arguments;
  std::string sign;
  std::string text = "\n";
};

LongRun long_plan(const Command& run, const std::string& problem = kLong) {
  const std::string checkpoint = run.path("checkpoint.json");
  return {"plan " + problem + " --time-limit 100 --threads 1 --checkpoint " + checkpoint + " -o " +
              run.path("answer.json"),
          checkpoint};
}

// The same, once the lanes of a tree of the proof are dealt out.
LongRun long_proof(const Command& run) {
  LongRun command = long_plan(run, kProblem);
  command.arguments += " -v";
  command.sign = run.path("err");
  command.text = " processes share the proof's tree";
  return command;
}

// Limits that bind, and no functional edges: neither tables nor bounds prove anything soon.
std::string hard_instance(const Command& run, std::size_t nodes) {
  test_support::RandomCostInstanceStyle style;
  style.num_nodes = nodes;
  style.min_strategies = 4;
  style.max_strategies = 16;
  style.functional_share = 0;
  style.long_lived_share = 0.02;
  const std::string path = run.path("instance.json");
  const std::string text = test_support::contest_text(test_support::random_cost_instance(3, style));
  REQUIRE(write_file(path, text).ok());
  return path;
}

LongRun long_solve(const Command& run) {
  return {"operators solve --format iopddl-contest " + hard_instance(run, 6'000) + " 100",
          run.path("out")};
}

struct Fault {
  CommandOutcome outcome;
  double seconds = 0;  // from the signal to the end
};

// Sends the signal to a process, once there is the sign.
Fault fault(const Command& run, const LongRun& command, int process, int signal,
            int processes = 3) {
  std::filesystem::remove(command.sign);
  const std::string tag = run.folder().filename().string() + "_" + std::to_string(signal);
  std::chrono::steady_clock::time_point sent;
  std::jthread killer([&](const std::stop_token& done) {
    const auto has_sign = [&] {
      std::ifstream file(command.sign);
      return contains(std::string(std::istreambuf_iterator<char>(file), {}), command.text);
    };
    while (!has_sign() && !done.stop_requested())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const pid_t pid = pids_of(tag, processes)[static_cast<std::size_t>(process)];
    sent = std::chrono::steady_clock::now();
    if (pid > 0) kill(pid, signal);
  });
  Fault found;
  found.outcome = run(command.arguments, "SHARDWRIGHT_TEST_TAG=" + tag + " " + mpirun(processes));
  const auto ended = std::chrono::steady_clock::now();
  killer.request_stop();
  killer.join();
  found.seconds = std::chrono::duration<double>(ended - sent).count();
  return found;
}

void check_ended(const Fault& found, int process, int processes = 3) {
  CHECK(found.outcome.status != 0);
  CHECK(found.seconds < 10);
  CHECK(contains(found.outcome.err, "process " + std::to_string(process) + " of " +
                                        std::to_string(processes) + " (pid "));
  CHECK(contains(found.outcome.err, "does not answer: it has died or hangs"));
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
      // The first process is left, and writes the best plan so far.
      const json answer = json::parse(*read_file(run.path("answer.json")));
      CHECK(answer["stopped_by"] == "cancelled");
      CHECK(rating_of(answer) <= rating_of(kept));
      CHECK(run("verify " + kLong + " " + run.path("answer.json")).status == 0);
    }
  }
}

TEST_CASE("mpi: a process that is killed or stopped while a tree is dealt out ends all") {
  const Command run;
  for (const int processes : {2, 4}) {
    for (const int signal : {SIGKILL, SIGSTOP}) {
      CAPTURE(processes);
      CAPTURE(signal);
      const int process = processes - 1;
      const LongRun command = long_proof(run);
      check_ended(fault(run, command, process, signal, processes), process, processes);
      // A search goes on from what process 0 writes at the end, and from the checkpoint.
      for (const char* const file : {"answer.json", "checkpoint.json"}) {
        const json kept = json::parse(*read_file(run.path(file)));
        CHECK(run("verify " + kProblem + " " + run.path(file)).status == 0);
        const CommandOutcome resumed = run("plan " + kProblem + " --work-limit 100000 --resume " +
                                           run.path(file) + " --threads 1 --json");
        REQUIRE(resumed.status == 0);
        const json then = json::parse(resumed.out);
        CHECK(rating_of(then) <= rating_of(kept));
        CHECK(bound_of(then) >= bound_of(kept));
      }
    }
  }
}

TEST_CASE("mpi: a process that stands still for a while is waited for, with the bytes of one") {
  const Command run;
  const std::string arguments = "plan " + kProblem + " --work-limit 30000000 --threads 1 -v ";
  REQUIRE(run(arguments + "-o " + run.path("alone.json")).status == 0);
  const LongRun command{arguments + "-o " + run.path("answer.json"), run.path("err"), " fit"};
  const std::string tag = run.folder().filename().string() + "_slow";
  std::atomic<bool> has_stood_still{false};
  std::jthread stopper([&](const std::stop_token& done) {
    const auto has_begun = [&] {
      std::ifstream file(command.sign);
      return contains(std::string(std::istreambuf_iterator<char>(file), {}), command.text);
    };
    while (!has_begun() && !done.stop_requested())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const pid_t pid = pids_of(tag, 2)[1];
    if (pid <= 0) return;
    kill(pid, SIGSTOP);
    std::this_thread::sleep_for(kStandsStill);
    has_stood_still = kill(pid, SIGCONT) == 0 && !done.stop_requested();
  });
  std::filesystem::remove(command.sign);
  const CommandOutcome outcome =
      run(command.arguments, "SHARDWRIGHT_TEST_TAG=" + tag + " " + mpirun(2));
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

}  // namespace shardwright::mpi_command_test
