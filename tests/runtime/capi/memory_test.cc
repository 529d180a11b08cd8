// If any allocation of the C interface fails, the call returns a status and the library stays
// usable.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "runtime/capi/shardwright.h"
#include "tests/runtime/capi/handles.h"
#include "tests/runtime/capi/question.h"
#include "tests/support/allocation_counter.h"

namespace shardwright::memory_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

// Runs `call` with its first, second, ... allocation failing until none fails. Returns the number
// of calls that ran out of memory.
template <class Call>
int fail_every_allocation_of(const Call& call) {
  int failures = 0;
  for (std::uint64_t n = 1;; ++n) {
    shardwright_status status;
    bool failed;
    {
      const FailingAllocation failing(n);
      status = call();
      failed = failing.failed();
    }
    if (!failed) {
      CHECK_OK(status);
      return failures;
    }
    // The call may succeed if the library does not need the allocation.
    CHECK((status == SHARDWRIGHT_OUT_OF_MEMORY || status == SHARDWRIGHT_OK));
    if (status == SHARDWRIGHT_OUT_OF_MEMORY) {
      ++failures;
      CHECK(std::string(shardwright_last_error_message()).starts_with("out of memory"));
    }
  }
}

}  // namespace

TEST_CASE("capi: every reading call reports out of memory as a status") {
  shardwright_problem* problem = nullptr;
  CHECK(fail_every_allocation_of([&] {
          return shardwright_problem_from_json(kSmallProblem.data(), kSmallProblem.size(),
                                               &problem);
        }) > 20);
  shardwright_search_space* space = space_of(problem);
  const Columns columns(space);
  const shardwright_option_arrays arrays = columns.arrays();
  shardwright_search_space* copy = nullptr;
  CHECK(fail_every_allocation_of(
            [&] { return shardwright_search_space_from_arrays(problem, &arrays, &copy); }) > 3);
  shardwright_result* result = plan_of(problem, copy, kExactRequest);
  std::size_t size = 0;
  std::string text(1 << 20, ' ');
  CHECK(fail_every_allocation_of([&] {
          return shardwright_result_to_json(result, 1, text.data(), text.size(), &size);
        }) > 1);
  shardwright_cancel* cancel = nullptr;
  CHECK(fail_every_allocation_of([&] { return shardwright_cancel_create(&cancel); }) > 0);
  CHECK_OK(shardwright_cancel_destroy(cancel));
  CHECK_OK(shardwright_result_destroy(result));
  CHECK_OK(shardwright_search_space_destroy(copy));
  CHECK_OK(shardwright_search_space_destroy(space));
  CHECK_OK(shardwright_problem_destroy(problem));
}

TEST_CASE("capi: planning reports out of memory as a status, and the next call succeeds") {
  shardwright_problem* problem = problem_of(kSmallProblem);
  shardwright_search_space* space = space_of(problem);
  shardwright_result* result = nullptr;
  CHECK(fail_every_allocation_of([&] {
          if (result != nullptr) shardwright_result_destroy(result);
          return ask_plan(problem, space, kExactRequest, {}, &result);
        }) > 20);
  CHECK(summary_of(result).has_plan == 1);
  CHECK_OK(shardwright_result_destroy(result));
  CHECK_OK(shardwright_search_space_destroy(space));
  CHECK_OK(shardwright_problem_destroy(problem));
}

TEST_CASE("capi: a command reports out of memory as a status, and the next call succeeds") {
  const std::string request = R"({"problem": )" + kSmallProblem + "}";
  shardwright_answer* answer = nullptr;
  CHECK(fail_every_allocation_of([&] {
          if (answer != nullptr) shardwright_answer_destroy(answer);
          return shardwright_ask("enumerate", request.data(), request.size(), nullptr, &answer);
        }) > 20);
  std::size_t size = 0;
  CHECK(fail_every_allocation_of(
            [&] { return shardwright_answer_to_json(answer, nullptr, 0, &size); }) > 0);
  CHECK(size > 0);
  CHECK_OK(shardwright_answer_destroy(answer));
}

TEST_CASE("capi: a redistribution reports out of memory as a status, and the next call succeeds") {
  const Question question;
  Answer answer;
  CHECK(fail_every_allocation_of([&] { return answer.ask(question); }) > 5);
  CHECK(answer.summary.num_steps > 0);
}

}  // namespace shardwright::memory_test
