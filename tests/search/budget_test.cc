// Budgets: counted work, deadlines and stop requests.
#include "search/budget.h"

#include <doctest/doctest.h>

#include <stop_token>

namespace shardwright::budget_test {

namespace {

using shardwright::Budget;
using shardwright::StopReason;

}  // namespace

TEST_CASE("budget: without limits, work is always left and nothing interrupts") {
  Budget budget;
  budget.spend(1'000'000'000'000);
  CHECK(budget.work_left());
  CHECK(budget.work_left(1'000'000'000'000));
  CHECK(budget.work_done() == 1'000'000'000'000);
  CHECK_FALSE(budget.interrupted().has_value());
}

TEST_CASE("budget: work is left until the limit is reached") {
  Budget budget(10, {});
  CHECK(budget.work_left(9));
  CHECK_FALSE(budget.work_left(10));
  budget.spend(9);
  CHECK(budget.work_left());
  CHECK_FALSE(budget.work_left(1));
  budget.spend(1);
  CHECK_FALSE(budget.work_left());
  CHECK_FALSE(budget.interrupted().has_value());
}

TEST_CASE("budget: a limit of zero allows nothing") { CHECK_FALSE(Budget(0, {}).work_left()); }

TEST_CASE("budget: a deadline that has passed interrupts, one far away does not") {
  CHECK(Budget({}, 0.0).interrupted() == StopReason::kTimeLimit);
  CHECK_FALSE(Budget({}, 3600.0).interrupted().has_value());
}

TEST_CASE("budget: a stop request interrupts and takes precedence over the deadline") {
  std::stop_source source;
  const Budget budget({}, 0.0, source.get_token());
  CHECK(budget.interrupted() == StopReason::kTimeLimit);
  source.request_stop();
  CHECK(budget.interrupted() == StopReason::kCancelled);
}

TEST_CASE("budget: a time limit beyond the range of the clock is no limit") {
  for (const double seconds : {1e10, 1e300}) {
    const shardwright::Budget budget({}, seconds);
    CHECK_FALSE(budget.interrupted().has_value());
  }
}

}  // namespace shardwright::budget_test
