// The command writes the same bytes with any number of threads, for every proposer and partitioner.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/io/file.h"
#include "tests/support/sanitized.h"

namespace shardwright::determinism_test {

namespace {

using shardwright::read_file;
using shardwright::test_support::kSanitized;

constexpr int kThreads[] = {1, 2, 3, 8};
constexpr int kRuns = kSanitized ? 2 : 20;

const char* const kCases[] = {
    "07_grid_shard_4hosts_32r",                  // default proposers, greedy partitioner
    "23_dcnv2_16r_tw_rw_fused_memory_balanced",  // memory-balanced partitioner
    "24_grid_search_5t_4r",                      // grid
    "25_dp_proposer_12t_8r_bins100",             // dynamic programming
    "26_offload_scaleup_10t_4r",                 // scale-up, which uses ratings
    "27_greedy_threshold_earlystop_8r",          // greedy proposer that stops early
    "28_uniform_only_8r",                        // uniform
    "29_partitioner_membal_tol0_40t_8r",
    "29_partitioner_sortstorage_40t_8r",  // groups sorted by storage
    "30_custom_topology_uneven_hbm_4r",   // ranks with different memory
    "36_mid_100t_16r_2h_default",         // batches are shared by many workers
    "11_nofit_insufficient_2r",           // no plan, but a diagnosis
};

struct Outcome {
  int status;
  std::string out;
};

class PlanCommand {
 public:
  PlanCommand()
      : out_(std::filesystem::temp_directory_path() /
             ("shardwright_determinism_test_" + std::to_string(getpid()) + ".json")) {}
  PlanCommand(const PlanCommand&) = delete;
  PlanCommand& operator=(const PlanCommand&) = delete;
  ~PlanCommand() { std::filesystem::remove(out_); }

  Outcome operator()(const std::string& arguments) const {
    const char* const program = std::getenv("SHARDWRIGHT_COMMAND");
    REQUIRE_MESSAGE(program != nullptr, "SHARDWRIGHT_COMMAND must name the command");
    const std::string line =
        std::string("'") + program + "' plan --json " + arguments + " >" + out_.string();
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_file(out_.string())};
  }

 private:
  std::filesystem::path out_;
};

// Removes `"key":value` with a number or a flat object as value. The other bytes stay as they are,
// so that tests can compare texts.
void cut(std::string& json, std::string_view key) {
  const std::string begin = "\"" + std::string(key) + "\":";
  const std::size_t at = json.find(begin);
  REQUIRE(at != std::string::npos);
  REQUIRE(json.find(begin, at + 1) == std::string::npos);
  std::size_t end = at + begin.size();
  end = json[end] == '{' ? json.find('}', end) + 1 : json.find_first_of(",}\n", end);
  REQUIRE(end != std::string::npos);
  json.erase(at, end - at);
}

std::string lasting(std::string json) {
  cut(json, "timing");
  cut(json, "threads");
  return json;
}

// Returns the first difference of two texts and the text around it.
std::string difference(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i])
    ++i;
  const std::size_t from = i < 60 ? 0 : i - 60;
  return "at byte " + std::to_string(i) + ": ..." + a.substr(from, 120) + "... against ..." +
         b.substr(from, 120) + "...";
}

void check_all(const std::string& arguments, int runs = kRuns) {
  const PlanCommand plan;
  int expected_status = 0;
  std::string expected;
  for (const int threads : kThreads) {
    for (int run = 0; run < runs; ++run) {
      INFO(arguments, ", ", threads, " threads, run ", run);
      const Outcome outcome = plan(arguments + " --threads " + std::to_string(threads));
      REQUIRE((outcome.status == 0 || outcome.status == 3));
      CHECK(outcome.out.find("\"threads\":" + std::to_string(threads)) != std::string::npos);
      const std::string json = lasting(outcome.out);
      if (expected.empty()) {
        expected_status = outcome.status;
        expected = json;
      }
      CHECK(outcome.status == expected_status);
      const bool same = json == expected;
      CHECK_MESSAGE(same, difference(json, expected));
      if (!same) return;
    }
  }
}

}  // namespace

TEST_CASE("determinism: the command writes the same JSON for any number of threads") {
  for (const char* const name : kCases) {
    check_all("--mode compat --trace --emit-search-space tests/golden/embedding/cases/" +
              std::string(name) + ".json.gz");
  }
}

// Without a trace, the search stops rating a proposal once it is certain to lose. The plan must be
// the same as with a trace.
TEST_CASE("determinism: the same holds if the search gives up losing proposals early") {
  check_all("--mode compat tests/golden/embedding/cases/36_mid_100t_16r_2h_default.json.gz");
  check_all(
      "--mode compat --work-limit 1000000 "
      "tests/golden/embedding/cases/36_mid_100t_16r_2h_default.json.gz");
}

TEST_CASE(
    "determinism: best mode's plan, bound and certificate are the same for any number of threads") {
  constexpr int kFewRuns = 2;
  for (const char* const name : {"09_mixed_default_20t_16r_2h", "16_sequence_and_pooled_8r",
                                 "30_custom_topology_uneven_hbm_4r"}) {
    check_all(
        "--work-limit 20000000 tests/golden/embedding/cases/" + std::string(name) + ".json.gz",
        kFewRuns);
  }
}

}  // namespace shardwright::determinism_test
