// A signal, a time limit or a work limit ends the command soon, for inputs of any size.
#include <doctest/doctest.h>

#include "tests/support/stop_checks.h"

namespace shardwright::stop_test {

using namespace shardwright::test_support;

TEST_CASE("stop: a search over many ranks hears signals and deadlines") {
  const Command run;
  const Arguments plan{
      "plan",  write_tables(run, "few.json", 3), "--ranks", "100000", "--ranks-per-host", "8",
      "--json"};
  check_stops(plan, {0.3, 1.5}, kLate);
  check_deadlines(plan, kLate);
  check_stops(joined(plan, {"--mode", "compat"}), {0.5}, kLate);
}

TEST_CASE("stop: the work of a search over many ranks is counted") {
  const Command run;
  const Arguments plan{
      "plan",  write_tables(run, "few.json", 3), "--ranks", "30000", "--ranks-per-host", "8",
      "--json"};
  CHECK(RunningCommand(plan).finish().cpu_s < 4 * kTolerance);
  CHECK(RunningCommand(joined(plan, {"--work-limit", "1000"})).finish().cpu_s < 2);
}

TEST_CASE("stop: a search over many tables hears signals and deadlines") {
  const Command run;
  const Arguments plan{"plan",
                       write_tables(run, "many.json", 10'000),
                       "--ranks",
                       "16",
                       "--ranks-per-host",
                       "8",
                       "--hbm",
                       "80GiB",
                       "--json"};
  check_stops(plan, {0.5, 2}, kLate);
}

}  // namespace shardwright::stop_test
