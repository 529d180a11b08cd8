// The targets that a proof tries, and when it treats hosts separately.
#include "search/embedding/bound/branch_and_price.h"

#include <doctest/doctest.h>

#include <optional>

namespace shardwright::target_schedule_test {

namespace {

using namespace shardwright::embedding;

// A proof of this target proves that `rating` is optimal.
double goal(double rating) { return rating * (1 - 5e-5); }

// Fails every target until the schedule separates hosts, and returns that target. Returns nullopt
// if the targets end before.
std::optional<double> fail_all(TargetSchedule& schedule, double bound, double rating) {
  while (const std::optional<double> target = schedule.next(bound, rating, goal(rating))) {
    CHECK(*target > bound);
    CHECK(*target < rating);
    if (schedule.separates_hosts()) return target;
    schedule.fail(*target);
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("target schedule: trees with equal hosts come before trees with separate ones") {
  const BoundParameters parameters;
  TargetSchedule schedule(parameters, true);
  CHECK_FALSE(schedule.is_branching());
  const std::optional<double> first = fail_all(schedule, 6, 8);
  REQUIRE(first.has_value());
  CHECK(*first == doctest::Approx(8).epsilon(1e-3));
  CHECK(schedule.is_branching());

  schedule.fail(*first);
  CHECK(schedule.next(6, 8, goal(8)) == 0.5 * (6 + *first));
  CHECK(schedule.separates_hosts());
  // A better plan has lower targets, which trees with equal hosts may prove.
  const std::optional<double> lower = schedule.next(6, 7, goal(7));
  REQUIRE(lower.has_value());
  CHECK_FALSE(schedule.separates_hosts());
  CHECK(schedule.is_branching());
  CHECK(*lower == doctest::Approx(7).epsilon(1e-3));
}

TEST_CASE("target schedule: a small tree comes first, and again for a better plan") {
  const BoundParameters parameters;
  TargetSchedule schedule(parameters, false);
  const std::optional<double> early = schedule.next(6, 8, goal(8));
  REQUIRE(early.has_value());
  CHECK(*early == goal(8));
  CHECK(schedule.is_early());
  CHECK(schedule.is_branching());
  schedule.note_cut_short();
  schedule.fail(*early);
  CHECK(schedule.next(6, 8, goal(8)) == *early);
  CHECK_FALSE(schedule.is_early());
  CHECK_FALSE(schedule.is_branching());
  schedule.begin_again();
  CHECK(schedule.next(6, 7, goal(7)) == goal(7));
  CHECK(schedule.is_early());
}

TEST_CASE("target schedule: ends where hosts cannot help") {
  const BoundParameters parameters;
  TargetSchedule schedule(parameters, false);
  CHECK_FALSE(fail_all(schedule, 6, 8).has_value());
  CHECK_FALSE(schedule.separates_hosts());
}

TEST_CASE("target schedule: the goal is asked without branching once all below it is proved") {
  const BoundParameters parameters;
  TargetSchedule schedule(parameters, false);
  schedule.next(6, 8, goal(8));  // the small tree
  std::optional<double> target = schedule.next(6, 8, goal(8));
  REQUIRE(target == goal(8));
  schedule.note_cut_short();
  schedule.fail(*target);
  double bound = 6;
  // All targets are proved from now on: up to the failed one, then above it with more work.
  while ((target = schedule.next(bound, 8, goal(8))) && *target < goal(8))
    bound = *target;
  REQUIRE(target.has_value());
  CHECK(*target == goal(8));
  CHECK_FALSE(schedule.is_branching());
  schedule.fail(*target);
  CHECK(schedule.next(bound, 8, goal(8)) == goal(8));
  CHECK(schedule.is_branching());
}

}  // namespace shardwright::target_schedule_test
