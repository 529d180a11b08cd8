// Files that the command writes hold the old or the new content, even after errors.
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "tests/end_to_end/limits/child_process.h"
#include "tests/support/command.h"
#include "tests/support/random.h"

namespace shardwright::output_files_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

namespace fs = std::filesystem;

constexpr int kMachineLimit = 7;

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// The answer has 10 MB.
const std::vector<std::string> kLongAnswer{
    "enumerate", "samples/data/mlperf_dlrm_dcnv2.json", "--ranks", "1024", "--ranks-per-host", "8"};

std::vector<std::string> writing_to(const std::string& path) {
  std::vector<std::string> line = kLongAnswer;
  line.insert(line.end(), {"-o", path});
  return line;
}

const std::string kShortPlan =
    "plan samples/data/mlperf_dlrm_dcnv2.json --ranks 16 --hbm 80GiB --work-limit 1000 ";

}  // namespace

TEST_CASE("output: a signal at any time leaves the old file or the new one, and no other") {
  const Command folder;
  const std::string out = folder.path("out"), err = folder.path("err");
  const fs::path results = folder.folder() / "results";
  fs::create_directory(results);
  const std::string answer = (results / "answer.json").string();
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(ChildProcess(writing_to(answer), out, err).wait() == 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  const std::string complete = read_file(answer).value();
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    constexpr std::array<int, 5> kSignals{SIGKILL, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const bool exists = round % 2 == 0;
    if (exists) REQUIRE(write_file(answer, "old").ok());
    if (!exists) fs::remove(answer);
    const ChildProcess child(writing_to(answer), out, err);
    std::this_thread::sleep_for(
        std::chrono::microseconds(random.below(static_cast<std::uint64_t>(whole.count()) * 5 / 4)));
    child.send(kSignals[static_cast<std::size_t>(round) % kSignals.size()]);
    child.wait();
    CAPTURE(round);
    CHECK(files_in(results) <= 1);
    if (!fs::exists(answer)) {
      CHECK_FALSE(exists);
      continue;
    }
    const std::string text = read_file(answer).value();
    CHECK((text == complete || (exists && text == "old")));
  }
}

TEST_CASE("output: a full disk or device is a sentence and status 7, whatever was printed") {
  const Command run;
  for (const char* arguments :
       {"--help", "--version", "plan --help", "completion bash", "completion zsh", "man",
        "diff samples/data/mlperf_dlrm_dcnv2.json "
        "samples/data/mlperf_dlrm_dcnv2.json --ranks 16"}) {
    CAPTURE(arguments);
    const std::string err = run.path("err2");
    const std::string line = "'" + std::string(std::getenv("SHARDWRIGHT_COMMAND")) + "' " +
                             arguments + " >/dev/full 2>" + err;
    CHECK(WEXITSTATUS(std::system(line.c_str())) == kMachineLimit);
    CHECK(read_file(err).value() ==
          "shardwright: standard output: cannot write: No space left on device\n");
    const std::string closed =
        "'" + std::string(std::getenv("SHARDWRIGHT_COMMAND")) + "' " + arguments + " >&- 2>" + err;
    CHECK(WEXITSTATUS(std::system(closed.c_str())) == kMachineLimit);
  }
  const CommandOutcome full = run(kShortPlan + "-o /dev/full");
  CHECK(full.status == kMachineLimit);
  CHECK(full.err == "shardwright: /dev/full: cannot write: No space left on device\n");
  CHECK(run(kShortPlan + "-o /no/such/folder/plan.json").status == 2);
}

TEST_CASE("output: a file that may grow no more is status 7, and the old one stays") {
  const Command folder;
  const std::string answer = folder.path("answer.json");
  REQUIRE(write_file(answer, "old").ok());
  const std::string err = folder.path("err");
  const ResourceLimits limits{{RLIMIT_FSIZE, 100'000}};
  CHECK(ChildProcess(writing_to(answer), folder.path("out"), err, limits).wait() == kMachineLimit);
  CHECK(read_file(err).value() == "shardwright: " + answer + ": cannot write: File too large\n");
  CHECK(read_file(answer).value() == "old");
  CHECK(ChildProcess(writing_to("-"), folder.path("out"), err, limits).wait() == kMachineLimit);
  CHECK(read_file(err).value() == "shardwright: standard output: cannot write: File too large\n");
}

TEST_CASE("output: a closed pipe is a sentence and status 7, for every command") {
  const Command run;
  const std::string err = run.path("err2");
  for (const std::string& arguments :
       {kShortPlan, kShortPlan + "--json", std::string("--help"), std::string("man"),
        std::string("program apply samples/data/program.json --full"),
        std::string("operators plan samples/data/traced_mlp.json --mesh 2x2 --json"),
        std::string("enumerate samples/data/mlperf_dlrm_dcnv2.json --ranks 1024")}) {
    CAPTURE(arguments);
    // The reader of the pipe ends before the command begins.
    const std::string line = "bash -c 'exec 3> >(true); wait $!; \"" +
                             std::string(std::getenv("SHARDWRIGHT_COMMAND")) + "\" " + arguments +
                             " >&3 2>" + err + "'";
    CHECK(WEXITSTATUS(std::system(line.c_str())) == kMachineLimit);
    CHECK(read_file(err).value() == "shardwright: standard output: cannot write: Broken pipe\n");
  }
}

TEST_CASE("output: a signal while the answer is written lets it be finished, a second one ends") {
  const Command run;
  const std::string pipe = run.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0666) == 0);
  // The plan is longer than a pipe can hold.
  const std::vector<std::string> plan{"plan",
                                      "samples/data/mlperf_dlrm_dcnv2.json",
                                      "--ranks",
                                      "1024",
                                      "--hbm",
                                      "80GiB",
                                      "--ranks-per-host",
                                      "8",
                                      "-o",
                                      pipe,
                                      "--work-limit",
                                      "1000",
                                      "--emit-search-space"};
  for (const int signals : {1, 2}) {
    CAPTURE(signals);
    const ChildProcess child(plan, run.path("out"), run.path("err"));
    std::ifstream reader(pipe);  // blocks until the command opens the pipe
    std::string text(1, static_cast<char>(reader.get()));
    for (int i = 0; i < signals; ++i) {
      child.send(SIGTERM);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    text.append(std::istreambuf_iterator<char>(reader), {});
    CHECK(child.wait() == (signals == 1 ? 0 : 128 + SIGTERM));
    CHECK(nlohmann::json::accept(text) == (signals == 1));
  }
}

TEST_CASE("output: links are followed, also to a file that does not exist yet") {
  const Command run;
  const fs::path folder = run.folder() / "links";
  fs::create_directories(folder / "deep");
  fs::create_symlink("deep/plan.json", folder / "relative");
  fs::create_symlink("relative", folder / "twice");
  REQUIRE(run(kShortPlan + "-o " + (folder / "twice").string()).status == 0);
  CHECK(fs::is_symlink(folder / "twice"));
  CHECK(fs::is_symlink(folder / "relative"));
  CHECK(fs::is_regular_file(folder / "deep/plan.json"));
  CHECK(files_in(folder) == 3);
  CHECK(files_in(folder / "deep") == 1);
  fs::create_symlink("loop", folder / "loop");
  CHECK(run(kShortPlan + "-o " + (folder / "loop").string()).status == 2);
  CHECK(fs::is_symlink(folder / "loop"));
}

TEST_CASE("output: names of open descriptors and pipes are written to, not replaced") {
  const Command run;
  const CommandOutcome out = run(kShortPlan + "-o /dev/stdout");
  CHECK(out.status == 0);
  CHECK(out.out.starts_with("{"));
  CHECK(fs::is_symlink("/dev/stdout"));
  const std::string pipe = run.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0666) == 0);
  const CommandOutcome piped =
      run(kShortPlan + "-o " + pipe, "cat " + pipe + " >" + run.path("copy") + " & ");
  CHECK(piped.status == 0);
  CHECK(fs::is_fifo(pipe));
}

}  // namespace shardwright::output_files_test
