// The arguments of a redistribution request in C, and buffers for the answer.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/capi/shardwright.h"
#include "tests/runtime/capi/handles.h"

namespace shardwright::test_support {

inline constexpr std::uint32_t kRoom = 16;

inline shardwright_placement placement(const std::string& words, std::uint32_t num_dims = 2) {
  shardwright_placement code = 0;
  REQUIRE_OK(shardwright_placement_from_text(words.data(), words.size(), num_dims, &code));
  return code;
}

// A valid request with its options. Tests change the members that they need.
struct Question {
  std::vector<std::int64_t> mesh{2, 4};
  std::vector<std::int64_t> shape{64, 48};
  std::vector<double> latency_us{3, 1};
  std::vector<double> bandwidth_gb_per_s{25, 200};
  shardwright_redistribution given{};
  shardwright_redistribution_options options{};

  Question() {
    given.struct_size = sizeof(given);
    given.num_axes = 2;
    given.num_dims = 2;
    given.itemsize = 2;
    given.mesh = mesh.data();
    given.shape = shape.data();
    given.source = placement("P(sum) S(0)");
    given.target = placement("S(1) R");
    options.struct_size = sizeof(options);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  void use_rings() {
    options.model = SHARDWRIGHT_COSTS_RINGS;
    options.latency_us = latency_us.data();
    options.bandwidth_gb_per_s = bandwidth_gb_per_s.data();
  }
};

// The outputs of a call. All arrays have kRoom elements.
struct Answer {
  shardwright_redistribution_summary summary{};
  std::array<std::uint8_t, kRoom> kind{}, from{}, to{}, reduce_op{};
  std::array<std::uint64_t, kRoom> axes{};
  std::array<shardwright_placement, kRoom> after{};
  std::array<double, kRoom> cost_us{};
  shardwright_redistribution_buffers steps{};

  explicit Answer(std::uint32_t room = kRoom) {
    summary.struct_size = sizeof(summary);
    steps.struct_size = sizeof(steps);
    steps.num_steps = room;
    steps.kind = kind.data();
    steps.axes = axes.data();
    steps.from = from.data();
    steps.to = to.data();
    steps.reduce_op = reduce_op.data();
    steps.after = after.data();
    steps.cost_us = cost_us.data();
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  shardwright_status ask(const Question& question) {
    return shardwright_plan_redistribution(&question.given, &question.options, &summary, &steps);
  }
};

}  // namespace shardwright::test_support
