// Errors as values: Result, Status, and the macros that return errors to the caller.
#include "core/status.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace shardwright::status_test {

namespace {

using shardwright::Error;
using shardwright::ErrorCode;
using shardwright::invalid_input;
using shardwright::Result;
using shardwright::Status;

Status check_even(int value) {
  if (value % 2 != 0) return invalid_input("/value", "must be even");
  return {};
}

Result<int> half(int value) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_even(value));
  return value / 2;
}

Result<std::string> quarter(int value) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const int first, half(value));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const int second, half(first));
  return std::to_string(second);
}

// Returns true if `action`, run in a child process, ends the process with SIGABRT.
template <class Action>
bool aborts(const Action& action) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // doctest's handler would print a report
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    action();
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace

TEST_CASE("result: holds a value or an error") {
  const Result<int> good = half(6);
  REQUIRE(good.ok());
  CHECK(bool(good));
  CHECK(*good == 3);
  const Result<int> bad = half(7);
  REQUIRE_FALSE(bad.ok());
  CHECK_FALSE(bool(bad));
  CHECK(bad.error().code == ErrorCode::kInvalidInput);
  CHECK(bad.error().where == "/value");
}

TEST_CASE("result: the macros stop at the first error and return it unchanged") {
  REQUIRE(quarter(12).ok());
  CHECK(*quarter(12) == "3");
  CHECK(quarter(7).error().message == "must be even");  // from the first step
  CHECK(quarter(6).error().where == "/value");          // from the second step
}

TEST_CASE("result: holds move-only values") {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const int* const address = result.value().get();
  const std::unique_ptr<int> taken = std::move(result).value();
  CHECK(taken.get() == address);
}

TEST_CASE("result: operator-> reaches the value's members") {
  const Result<std::string> result(std::string("abc"));
  CHECK(result->size() == 3);
}

TEST_CASE("result: reading the side that is absent aborts") {
  const Result<int> good(1);
  const Result<int> bad(Error{ErrorCode::kInfeasible, "no", ""});
  CHECK(aborts([&] { static_cast<void>(bad.value()); }));
  CHECK(aborts([&] { static_cast<void>(good.error()); }));
  CHECK_FALSE(aborts([&] { static_cast<void>(good.value()); }));
}

TEST_CASE("status: is success unless made from an error") {
  CHECK(Status().ok());
  const Status failed = check_even(1);
  CHECK_FALSE(failed.ok());
  CHECK(failed.error().message == "must be even");
  CHECK(aborts([] { static_cast<void>(Status().error()); }));
}

TEST_CASE("error: the text names the place if there is one") {
  CHECK(invalid_input("/tables/3", "must have a name").to_string() ==
        "/tables/3: must have a name");
  CHECK(Error{ErrorCode::kInfeasible, "nothing fits", ""}.to_string() == "nothing fits");
}

}  // namespace shardwright::status_test
