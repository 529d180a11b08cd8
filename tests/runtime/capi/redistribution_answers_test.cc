// Redistributions through the C interface: answers, buffers, threads, placements as text.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "runtime/capi/shardwright.h"
#include "runtime/redistribution/plan_redistribution.h"
#include "tests/runtime/capi/question.h"

namespace shardwright::redistribution_answers_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

std::string words_of(shardwright_placement code, std::uint32_t num_axes) {
  std::array<char, 128> text{};
  REQUIRE_OK(shardwright_placement_to_text(code, num_axes, text.data(), text.size(), nullptr));
  return text.data();
}

// Asks the C++ library the same question.
PlannedRedistribution planned(const Question& question) {
  RedistributionCase request;
  request.mesh.assign(question.mesh.begin(), question.mesh.end());
  request.shape.assign(question.shape.begin(), question.shape.end());
  request.itemsize = question.given.itemsize;
  request.source = redistribution::Placement::of_code(question.given.source);
  request.target = redistribution::Placement::of_code(question.given.target);
  RedistributionOptions options;
  if (question.options.model == SHARDWRIGHT_COSTS_RINGS) {
    RingModel rings;
    for (std::size_t axis = 0; axis < question.mesh.size(); ++axis)
      rings.links.push_back({question.latency_us[axis], question.bandwidth_gb_per_s[axis]});
    rings.groups = question.options.groups != 0;
    options.model = rings;
  }
  auto answer = plan_redistribution(request, options);
  REQUIRE(answer.ok());
  return *answer;
}

void check_equal(const Answer& answer, const PlannedRedistribution& expected) {
  REQUIRE(answer.summary.num_steps == expected.path.steps.size());
  CHECK(answer.summary.cost_us == expected.path.cost);
  CHECK(answer.summary.peak_bytes == expected.peak_bytes);
  CHECK(answer.summary.num_collectives == expected.path.num_collectives());
  CHECK(answer.summary.is_optimal == 1);
  for (std::size_t i = 0; i < answer.summary.num_steps; ++i) {
    const redistribution::PathStep& step = expected.path.steps[i];
    CHECK(answer.kind[i] == static_cast<std::uint8_t>(step.move.kind));
    CHECK(answer.after[i] == step.after.code());
    CHECK(answer.cost_us[i] == step.cost);
    for (std::size_t axis = 0; axis < step.move.axes.size(); ++axis)
      CHECK((answer.axes[i] >> (8 * axis) & 0xff) == 1U + step.move.axes[axis]);
  }
}

}  // namespace

TEST_CASE("capi: a redistribution has the library's steps under both cost models") {
  Question question;
  Answer dtensor;
  REQUIRE_OK(dtensor.ask(question));
  check_equal(dtensor, planned(question));
  CHECK(words_of(dtensor.after[dtensor.summary.num_steps - 1], 2) == "S(1) R");
  for (std::uint32_t i = 0; i < dtensor.summary.num_steps; ++i)
    CHECK(dtensor.reduce_op[i] == (dtensor.kind[i] == SHARDWRIGHT_MOVE_REDUCE_SCATTER ? 1 : 0));

  question.use_rings();
  question.options.groups = 1;
  Answer rings;
  REQUIRE_OK(rings.ask(question));
  check_equal(rings, planned(question));
  CHECK(rings.summary.cost_us != dtensor.summary.cost_us);
}

TEST_CASE("capi: outputs of a redistribution may be left out, one by one") {
  Question question;
  Answer full;
  REQUIRE_OK(full.ask(question));
  CHECK_OK(shardwright_plan_redistribution(&question.given, nullptr, nullptr, nullptr));
  Answer only_steps;
  CHECK_OK(shardwright_plan_redistribution(&question.given, nullptr, nullptr, &only_steps.steps));
  CHECK(only_steps.after == full.after);
  Answer only_after;
  const auto after = only_after.steps.after;
  only_after.steps = {};
  only_after.steps.struct_size = sizeof(only_after.steps);
  only_after.steps.num_steps = full.summary.num_steps;
  only_after.steps.after = after;
  CHECK_OK(only_after.ask(question));
  CHECK(only_after.after == full.after);
  CHECK(only_after.kind == std::array<std::uint8_t, kRoom>{});
}

TEST_CASE("capi: arrays without room for the steps stay as they are") {
  const Question question;
  Answer full;
  REQUIRE_OK(full.ask(question));
  Answer small(full.summary.num_steps - 1);
  small.summary.cost_us = -1;
  CHECK(small.ask(question) == SHARDWRIGHT_BUFFER_TOO_SMALL);
  CHECK(std::string(shardwright_last_error_place()) == "steps");
  CHECK(small.summary.cost_us == -1);
  CHECK(small.after[0] == 0);
}

TEST_CASE("capi: a tensor that stays needs no step, and a scalar has no dimension") {
  Question question;
  question.given.target = question.given.source;
  Answer answer;
  REQUIRE_OK(answer.ask(question));
  CHECK(answer.summary.num_steps == 0);
  CHECK(answer.summary.cost_us == 0);
  question.given.num_dims = 0;
  question.given.shape = nullptr;
  question.given.source = placement("P(max) R", 0);
  question.given.target = placement("R R", 0);
  REQUIRE_OK(answer.ask(question));
  CHECK(answer.summary.num_collectives == 1);
  CHECK(answer.reduce_op[0] == 4);
}

TEST_CASE(
    "capi: threads that ask at once get the answers, and the errors, of their own questions") {
  std::array<Answer, 3> expected;
  const std::array<const char*, 3> targets{"S(1) R", "R R", "S(0) S(1)"};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Question question;
    question.given.target = placement(targets[i]);
    REQUIRE_OK(expected[i].ask(question));
  }
  std::array<int, 8> wrong{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
      threads.emplace_back([&, thread] {
        const std::size_t i = thread % targets.size();
        Question question;
        question.given.target = placement(targets[i]);
        for (int round = 0; round < 200; ++round) {
          Answer answer;
          if (answer.ask(question) != SHARDWRIGHT_OK) ++wrong[thread];
          if (answer.after != expected[i].after || answer.cost_us != expected[i].cost_us)
            ++wrong[thread];
          question.shape[0] = -static_cast<std::int64_t>(thread) - 1;
          if (answer.ask(question) != SHARDWRIGHT_INVALID_INPUT) ++wrong[thread];
          if (std::string(shardwright_last_error_place()) != "/shape/0") ++wrong[thread];
          question.shape[0] = 64;
        }
      });
    }
  }
  CHECK(wrong == std::array<int, 8>{});
}

TEST_CASE("capi: placements go to text and back") {
  for (const char* words : {"R R", "P(sum) S(0)", "S(0)[1] S(0)[0]", "P(avg) R", "S(1) S(0)"})
    CHECK(words_of(placement(words), 2) == words);
  CHECK(words_of(placement("  S(0)   R "), 2) == "S(0) R");
  CHECK(placement("P R") == placement("P(sum) R"));
  shardwright_placement code = 5;
  CHECK(shardwright_placement_from_text("R X", 3, 2, &code) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(std::string(shardwright_last_error_place()) == "/1");
  CHECK(shardwright_placement_from_text("S(2)", 4, 2, &code) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(shardwright_placement_from_text(nullptr, 4, 2, &code) == SHARDWRIGHT_INVALID_ARGUMENT);
  CHECK(shardwright_placement_from_text("R", 1, 2, nullptr) == SHARDWRIGHT_INVALID_ARGUMENT);
  CHECK(code == 5);
  std::size_t size = 0;
  CHECK_OK(shardwright_placement_to_text(placement("R S(1)"), 2, nullptr, 0, &size));
  CHECK(size == 6);
  std::array<char, 6> text{};
  CHECK(shardwright_placement_to_text(placement("R S(1)"), 2, text.data(), text.size(), &size) ==
        SHARDWRIGHT_BUFFER_TOO_SMALL);
  CHECK(shardwright_placement_to_text(placement("R S(1)"), 1, nullptr, 0, &size) ==
        SHARDWRIGHT_INVALID_INPUT);
}

}  // namespace shardwright::redistribution_answers_test
