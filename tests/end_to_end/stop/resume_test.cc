// A search that resumes from a checkpoint loses nothing of it, and the check of a certificate ends.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/file.h"
#include "tests/support/random.h"
#include "tests/support/stop_checks.h"

namespace shardwright::resume_test {

using namespace shardwright::test_support;

namespace {

// A problem with an answer of best mode that a search resumes from.
struct Started {
  const char* problem;
  const char* checkpoint;
  Arguments machine;

  Arguments line(const char* command, const Arguments& rest) const {
    return joined(joined({command, problem}, machine), rest);
  }
};

const Started kLarge{"tests/golden/workloads/hugectr_510table_110B_hotness5.json.gz",
                     "tests/golden/reported/resume_hugectr510_64.ckpt.json.gz",
                     {"--ranks", "64", "--ranks-per-host", "8"}};
// This certificate claims too much, and its check tries all plans until its work is used up.
constexpr const char* kForgedPlan = "tests/golden/reported/forged_search.plan.json.gz";
const Started kForged{
    "tests/golden/embedding/cases/36_mid_100t_16r_2h_default.json.gz", kForgedPlan, {}};

PlanDocument document_in(const std::string& path) {
  const auto text = read_file(path);
  REQUIRE(text.ok());
  auto document = read_plan(*text);
  REQUIRE(document.ok());
  return std::move(document).value();
}

// Checks that the file has a plan and a bound at least as good as those of `least`.
void check_holds(const std::string& path, const PlanDocument& least) {
  const PlanDocument found = document_in(path);
  REQUIRE(found.plan.has_value());
  CHECK(*found.best_rating <= *least.best_rating);
  REQUIRE(found.certificate.has_value());
  CHECK(found.certificate->bound >= least.certificate->bound);
}

}  // namespace

TEST_CASE("resume: whatever ends the command, no file holds less than the checkpoint") {
  const Command run;
  const PlanDocument least = document_in(kLarge.checkpoint);
  const std::string file = run.path("plan.json");
  const std::string other = run.path("other.json");
  Random random(7);
  constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGKILL, 0};
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    REQUIRE(write_file(file, *read_file(kLarge.checkpoint)).ok());
    REQUIRE(write_file(other, *read_file(kLarge.checkpoint)).ok());
    const double seconds = static_cast<double>(random.below(1'000'000)) * 1e-6;
    const int signal = kSignals[static_cast<std::size_t>(round) % kSignals.size()];
    const std::string limit = std::to_string(signal == 0 ? seconds * seconds : 10);
    const Arguments resume =
        kLarge.line("plan", {"--resume", file, "--time-limit", limit, "--checkpoint",
                             round % 3 == 0 ? other : file, "-o", file});
    RunningCommand command(resume);
    const StopOutcome outcome =
        signal == 0 ? command.finish() : command.stop_after(seconds, signal);
    CHECK((outcome.status == 0 || outcome.status == 128 + signal));
    check_holds(file, least);
    check_holds(other, least);
  }
}

TEST_CASE("resume: an answer that is stopped at once has plan and bound of the checkpoint") {
  const Command run;
  const PlanDocument least = document_in(kLarge.checkpoint);
  const std::string file = run.path("plan.json");
  REQUIRE(RunningCommand(
              kLarge.line("plan", {"--resume", kLarge.checkpoint, "--time-limit", "0", "-o", file}))
              .finish()
              .status == 0);
  check_holds(file, least);
  CHECK(document_in(file).lower_bound.value_or(0) >= *least.lower_bound);
}

TEST_CASE("resume: a forged bound is never claimed, and no plan is lost to it") {
  const Command run;
  const PlanDocument forged = document_in(kForged.checkpoint);
  const std::string file = run.path("plan.json");
  const std::string kept = run.path("kept.json");
  for (const char* const limit : {"0", "0.05", "0.3", "3"}) {
    CAPTURE(limit);
    const StopOutcome outcome =
        RunningCommand(kForged.line("plan", {"--resume", kForged.checkpoint, "--time-limit", limit,
                                             "--threads", "1", "--checkpoint", kept, "-o", file}))
            .finish();
    CHECK(outcome.status == 0);
    CHECK(outcome.cpu_s < std::stod(limit) + kLate);
    for (const std::string& path : {file, kept}) {
      const PlanDocument found = document_in(path);
      REQUIRE(found.plan.has_value());
      CHECK(*found.best_rating <= *forged.best_rating);
      CHECK(found.lower_bound.value_or(0) < *forged.lower_bound);
    }
  }
}

TEST_CASE("certificate: a forged one is refused or given up by steps, limits and signals") {
  const Command run;
  const Arguments verify = kForged.line("verify", {kForgedPlan, "--json"});
  const StopOutcome whole = RunningCommand(verify).finish();
  CHECK(whole.status == kNotVerified);
  CHECK(whole.cpu_s < kTolerance * 2);
  const StopOutcome limited =
      RunningCommand(joined(verify, {"--time-limit", "0.2", "--threads", "1"})).finish();
  CHECK(limited.status == kNotVerified);
  CHECK(limited.cpu_s < 0.2 + kLate);
  check_stops(verify, {0.05, 0.4}, kLate);
  const Arguments reuse = kForged.line(
      "plan", {"--reuse", kForged.checkpoint, "-o", run.path("plan.json"), "--threads", "1"});
  CHECK(RunningCommand(joined(reuse, {"--time-limit", "0.5"})).finish().cpu_s < 0.5 + kLate);
  check_stops(reuse, {0.05, 0.4}, kLate);
}

TEST_CASE("certificate: what a limit left unchecked is named") {
  const Command run;
  const std::string line =
      std::string("verify ") + kForged.problem + " " + kForgedPlan + " --time-limit ";
  CHECK(run(line + "0").out.find("not verified: the check was stopped") != std::string::npos);
  const CommandOutcome late = run(line + "0.1");
  CHECK(late.status == kNotVerified);
  CHECK(late.out.find("not verified: /certificate: the check was stopped by the time limit") !=
        std::string::npos);
}

TEST_CASE("certificate: one of a form of an earlier version proves nothing, and is no violation") {
  const Command run;
  const std::string problem = "tests/golden/reported/forge_41_0.problem.json ";
  const CommandOutcome found =
      run("verify " + problem + "tests/golden/reported/forge_41_0.plan.json");
  CHECK(found.status == kNotVerified);
  CHECK(found.out.find("not verified: /certificate: the proof has a form of an earlier version") !=
        std::string::npos);
  const std::string file = run.path("plan.json");
  const CommandOutcome resumed =
      run("plan " + problem + "--time-limit 0 -o " + file +
          " --resume tests/golden/reported/resume_forged_certificate.plan.json");
  CHECK(resumed.status == 0);
  CHECK_FALSE(document_in(file).certificate.has_value());
}

}  // namespace shardwright::resume_test
