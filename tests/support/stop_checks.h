// Checks that commands end soon after a signal, a time limit or a work limit.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "tests/support/command.h"
#include "tests/support/running_command.h"
#include "tests/support/sanitized.h"

namespace shardwright::test_support {

// Slow and busy machines get three times the promised time; builds with a sanitizer get more.
inline constexpr double kTolerance = kSanitized ? 15 : 3;
inline constexpr double kLate = kTolerance * 0.2;
inline constexpr double kLateAtMostRanks = kTolerance * 1.0;
// The additional 0.3 s are for identifying 100,000 tables, printing them and freeing them.
inline constexpr double kLateAtMostTables = kTolerance * (0.2 + 0.3);
inline constexpr int kNoPlan = 3;  // exit code: proved before the signal that no plan exists
inline constexpr int kStoppedBeforeAnything = 4;

using Arguments = std::vector<std::string>;

inline Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Writes a problem of `count` tables of mixed shapes and returns its path.
inline std::string write_tables(const Command& run, const char* name, int count) {
  nlohmann::json tables = nlohmann::json::array();
  constexpr int kDims[] = {16, 32, 64, 128, 256};
  for (int i = 0; i < count; ++i) {
    tables.push_back({{"name", "t" + std::to_string(i)},
                      {"num_embeddings", 300 + std::int64_t{7919} * i % 200'000},
                      {"embedding_dim", kDims[i % 5]},
                      {"pooling_factor", 1 + i % 30}});
  }
  REQUIRE(write_file(run.path(name), nlohmann::json{{"tables", tables}}.dump()).ok());
  return run.path(name);
}

inline constexpr int kNotVerified = 6;

// Sends SIGINT and SIGTERM after the given processor times. Checks that the command ends within
// `late_s` seconds, with a documented exit code.
inline void check_stops(const Arguments& arguments, const std::vector<double>& after_cpu_s,
                        double late_s) {
  std::string line;
  for (const std::string& argument : arguments)
    line += argument + " ";
  CAPTURE(line);
  for (const double cpu_s : after_cpu_s) {
    for (const int signal : {SIGINT, SIGTERM}) {
      CAPTURE(cpu_s);
      CAPTURE(signal);
      const StopOutcome outcome = RunningCommand(arguments).stop_after(cpu_s, signal);
      if (!outcome.signalled) continue;
      CHECK(outcome.late_s < late_s);
      const bool verifies = arguments.front() == "verify";
      const bool documented =
          outcome.status == 0 || outcome.status == kNoPlan ||
          outcome.status == (verifies ? kNotVerified : kStoppedBeforeAnything) ||
          outcome.status == 128 + signal;
      CHECK_MESSAGE(documented, outcome.status);
    }
  }
}

// Checks that the command ends at most `late_s` seconds of processor time after its time limit.
inline void check_deadlines(const Arguments& arguments, double late_s) {
  for (const double limit_s : {0.1, 0.5}) {
    CAPTURE(limit_s);
    const StopOutcome outcome = RunningCommand(joined(arguments, {"--threads", "1", "--time-limit",
                                                                  std::to_string(limit_s)}))
                                    .finish();
    CHECK(outcome.cpu_s < limit_s + late_s);
  }
}

}  // namespace shardwright::test_support
