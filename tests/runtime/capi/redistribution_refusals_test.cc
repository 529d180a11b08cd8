// Redistributions through the C interface: every kind of bad input, and requests without an answer.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "runtime/capi/shardwright.h"
#include "tests/runtime/capi/question.h"

namespace shardwright::redistribution_refusals_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

// A change of the request, and the status and error that must follow.
struct Refusal {
  std::function<void(Question&)> change;
  shardwright_status status;
  const char* place;
  const char* message;  // the beginning of the message
};

void check_refused(const Refusal& refusal) {
  CAPTURE(refusal.place);
  CAPTURE(refusal.message);
  Question question;
  refusal.change(question);
  Answer answer;
  answer.summary.cost_us = -1;
  CHECK(answer.ask(question) == refusal.status);
  CHECK(std::string(shardwright_last_error_place()) == refusal.place);
  const std::string message = shardwright_last_error_message();
  CHECK_MESSAGE(message.starts_with(refusal.message), message);
  // The outputs are unchanged.
  CHECK(answer.summary.cost_us == -1);
  CHECK(answer.after[0] == 0);
}

}  // namespace

TEST_CASE("capi: bad redistributions name the place and the reason") {
  const auto invalid = SHARDWRIGHT_INVALID_INPUT;
  const std::vector<Refusal> refusals = {
      {[](Question& q) { q.mesh[1] = 0; }, invalid, "/mesh/1", "the axis has no device"},
      {[](Question& q) { q.mesh[0] = std::int64_t{1} << 40; }, invalid, "/mesh",
       "more than 2^31 devices"},
      {[](Question& q) { q.given.num_axes = 9; }, invalid, "/mesh", "a mesh has at most 8 axes"},
      {[](Question& q) {
         q.given.num_axes = 0;
         q.given.source = q.given.target = 0;
       },
       invalid, "/mesh", "a mesh has at least one axis"},
      {[](Question& q) { q.given.num_axes = 1; }, invalid, "/source/1", "the mesh has 1 axes"},
      {[](Question& q) { q.given.num_dims = 10; }, invalid, "/shape",
       "a tensor has at most 9 dimensions"},
      {[](Question& q) { q.shape[1] = -1; }, invalid, "/shape/1",
       "an extent cannot be -1; write the number of elements"},
      {[](Question& q) { q.shape[0] = std::int64_t{1} << 61; }, invalid, "/shape/0",
       "the tensor would have 2^62 bytes or more"},
      {[](Question& q) { q.given.itemsize = 0; }, invalid, "/itemsize", "must be at least 1 byte"},
      {[](Question& q) { q.given.source = 7; }, invalid, "/source/0", "there is no placement 7"},
      {[](Question& q) { q.given.num_dims = 1; }, invalid, "/target/0",
       "the tensor has 1 dimensions and none with the number 1"},
      {[](Question& q) { q.given.target = 0x3010; }, invalid, "/target/1",
       "the tensor has 2 dimensions and none with the number 2"},
      {[](Question& q) { q.given.target = 0x1212; }, invalid, "/target/0",
       "the shards of dimension 0 need the indices 0 to 1, each once"},
      {[](Question& q) { q.given.source = 0x0401; }, invalid, "/source/1",
       "a partial max cannot be combined with a partial sum"},
      {[](Question& q) { q.options.devices_per_host = -1; }, invalid, "/devices_per_host",
       "must be at least 1"},
      {[](Question& q) { q.options.memory_limit = -1; }, invalid, "/memory_bytes",
       "must not be negative"},
      {[](Question& q) {
         q.use_rings();
         q.latency_us[1] = -1;
       },
       invalid, "/links/1/latency_us", "must be a finite number that is not negative"},
      {[](Question& q) {
         q.use_rings();
         q.bandwidth_gb_per_s[0] = std::numeric_limits<double>::infinity();
       },
       invalid, "/links/0/bandwidth_gb_per_s", "must be a finite number above 0"},
      {[](Question& q) {
         q.use_rings();
         q.options.copy_gb_per_s = std::numeric_limits<double>::quiet_NaN();
       },
       invalid, "/copy_gb_per_s", "must be positive"},
  };
  for (const Refusal& refusal : refusals)
    check_refused(refusal);
}

TEST_CASE("capi: misused arguments of a redistribution are refused by name") {
  const auto misused = SHARDWRIGHT_INVALID_ARGUMENT;
  const std::vector<Refusal> refusals = {
      {[](Question& q) { q.given.mesh = nullptr; }, misused, "redistribution.mesh",
       "must not be null"},
      {[](Question& q) { q.given.shape = nullptr; }, misused, "redistribution.shape",
       "must not be null"},
      {[](Question& q) { q.options.model = SHARDWRIGHT_COSTS_RINGS; }, misused,
       "options.bandwidth_gb_per_s", "must not be null"},
      {[](Question& q) { q.options.model = 2; }, misused, "options.model",
       "there is no such model"},
      {[](Question& q) { q.options.reserved = 1; }, misused, "options.reserved", "must be 0"},
      {[](Question& q) { q.given.struct_size = 8; }, misused, "redistribution",
       "struct_size is 8; set it to sizeof the structure"},
      {[](Question& q) { q.options.struct_size = 0; }, misused, "options", "struct_size is 0"},
  };
  for (const Refusal& refusal : refusals)
    check_refused(refusal);
  CHECK(shardwright_plan_redistribution(nullptr, nullptr, nullptr, nullptr) == misused);
  CHECK(std::string(shardwright_last_error_place()) == "redistribution");
  const Question question;
  Answer answer;
  answer.summary.struct_size = 4;
  CHECK(answer.ask(question) == misused);
  CHECK(std::string(shardwright_last_error_place()) == "summary");
  answer.summary.struct_size = sizeof(answer.summary);
  answer.steps.struct_size = 4;
  CHECK(answer.ask(question) == misused);
  CHECK(std::string(shardwright_last_error_place()) == "steps");
}

TEST_CASE("capi: limits that nothing meets are infeasible") {
  check_refused({[](Question& q) { q.options.memory_limit = 1; }, SHARDWRIGHT_INFEASIBLE, "",
                 "no moves within the limits lead from P(sum) S(0) to S(1) R"});
  check_refused({[](Question& q) { q.options.has_collective_limit = 1; }, SHARDWRIGHT_INFEASIBLE,
                 "", "no moves within the limits lead from P(sum) S(0) to S(1) R"});
  Question question;
  question.options.has_collective_limit = 1;
  question.options.collective_limit = 2;
  Answer answer;
  REQUIRE_OK(answer.ask(question));
  CHECK(answer.summary.num_collectives == 2);
}

TEST_CASE("capi: a redistribution can be cancelled, and handles of others are refused") {
  Question question;
  shardwright_cancel* cancel = nullptr;
  REQUIRE_OK(shardwright_cancel_create(&cancel));
  question.options.cancel = cancel;
  Answer answer;
  CHECK_OK(answer.ask(question));
  CHECK_OK(shardwright_cancel_request(cancel));
  CHECK(answer.ask(question) == SHARDWRIGHT_STOPPED);
  CHECK(std::string(shardwright_last_error_message()) == "the redistribution was cancelled");
  CHECK_OK(shardwright_cancel_destroy(cancel));
  CHECK(answer.ask(question) == SHARDWRIGHT_INVALID_HANDLE);
  CHECK(std::string(shardwright_last_error_place()) == "options.cancel");
}

}  // namespace shardwright::redistribution_refusals_test
