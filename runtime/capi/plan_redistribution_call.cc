// Redistribution of one tensor; placements as text.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/redistribution/placement/placement_notation.h"
#include "runtime/capi/boundary.h"
#include "runtime/capi/shardwright.h"
#include "runtime/redistribution/placement_code.h"
#include "runtime/redistribution/plan_redistribution.h"

using namespace shardwright;
using namespace shardwright::capi;

namespace {

using redistribution::Move;
using redistribution::Placement;

Placement placement_of(std::uint64_t code, std::size_t num_axes, std::size_t num_dims,
                       const std::string& name) {
  auto read = read_placement_code(code, num_axes, num_dims);
  if (!read.ok()) {
    fail(status_of(read.error().code), read.error().message, name + read.error().where);
  }
  return *read;
}

RedistributionCase case_of(const shardwright_redistribution& given) {
  if (given.num_axes > redistribution::kMaxMeshAxes) {
    fail(SHARDWRIGHT_INVALID_INPUT, "a mesh has at most 8 axes", "/mesh");
  }
  if (given.num_dims > redistribution::kMaxDims) {
    fail(SHARDWRIGHT_INVALID_INPUT, "a tensor has at most 9 dimensions", "/shape");
  }
  if (given.num_axes > 0) required(given.mesh, "redistribution.mesh");
  if (given.num_dims > 0) required(given.shape, "redistribution.shape");
  RedistributionCase request;
  request.mesh.assign(given.mesh, given.mesh + given.num_axes);
  request.shape.assign(given.shape, given.shape + given.num_dims);
  request.itemsize = given.itemsize;
  request.source = placement_of(given.source, given.num_axes, given.num_dims, "/source");
  request.target = placement_of(given.target, given.num_axes, given.num_dims, "/target");
  return request;
}

RingModel rings_of(const shardwright_redistribution_options& given, std::size_t num_axes) {
  RingModel rings;
  required(given.bandwidth_gb_per_s, "options.bandwidth_gb_per_s");
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    rings.links.push_back(
        {given.latency_us == nullptr ? 0 : given.latency_us[axis], given.bandwidth_gb_per_s[axis]});
  }
  if (given.copy_gb_per_s != 0) rings.copy_gb_per_s = given.copy_gb_per_s;
  rings.groups = given.groups != 0;
  return rings;
}

RedistributionOptions options_of(const shardwright_redistribution_options& given,
                                 std::size_t num_axes) {
  RedistributionOptions options;
  if (given.reserved != 0) fail(SHARDWRIGHT_INVALID_ARGUMENT, "must be 0", "options.reserved");
  switch (given.model) {
    case SHARDWRIGHT_COSTS_DTENSOR:
      if (given.devices_per_host != 0) options.model = DTensorModel{given.devices_per_host};
      break;
    case SHARDWRIGHT_COSTS_RINGS:
      options.model = rings_of(given, num_axes);
      break;
    default:
      fail(SHARDWRIGHT_INVALID_ARGUMENT, "there is no such model", "options.model");
  }
  if (given.memory_limit != 0) options.memory_bytes = given.memory_limit;
  if (given.has_collective_limit != 0) options.collectives = given.collective_limit;
  return options;
}

std::uint64_t word_of(const redistribution::Axes& axes) {
  std::uint64_t word = 0;
  for (std::size_t i = axes.size(); i-- > 0;)
    word = word << 8 | (std::uint64_t{axes[i]} + 1);
  return word;
}

std::uint8_t reduce_op_of(const Move& move) {
  const bool reduces = move.kind == Move::Kind::kAllReduce ||
                       move.kind == Move::Kind::kReduceScatter ||
                       move.kind == Move::Kind::kToPartial;
  return reduces ? static_cast<std::uint8_t>(1 + static_cast<int>(move.reduce_op))
                 : std::uint8_t{0};
}

// Precondition: the arrays have room for the path.
void put_steps(const redistribution::Path& path, const shardwright_redistribution_buffers& to) {
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    const redistribution::PathStep& step = path.steps[i];
    put(to.kind, i, step.move.kind);
    put(to.axes, i, word_of(step.move.axes));
    put(to.from, i, step.move.from);
    put(to.to, i, step.move.to);
    put(to.reduce_op, i, reduce_op_of(step.move));
    put(to.after, i, step.after.code());
    put(to.cost_us, i, step.cost);
  }
}

shardwright_redistribution_summary summarize(const PlannedRedistribution& planned) {
  shardwright_redistribution_summary summary{};
  summary.num_steps = static_cast<std::uint32_t>(planned.path.steps.size());
  summary.num_collectives = static_cast<std::uint32_t>(planned.path.num_collectives());
  summary.is_optimal = planned.path.is_optimal ? 1 : 0;
  summary.cost_us = planned.path.cost;
  summary.peak_bytes = planned.peak_bytes;
  return summary;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

shardwright_status shardwright_plan_redistribution(
    const shardwright_redistribution* redistribution,
    const shardwright_redistribution_options* options, shardwright_redistribution_summary* summary,
    const shardwright_redistribution_buffers* steps) {
  return guarded([&] {
    const RedistributionCase request = case_of(read_struct(redistribution, "redistribution"));
    shardwright_redistribution_options given{};
    if (options != nullptr) given = read_struct(options, "options");
    std::optional<shardwright_redistribution_buffers> to;
    if (steps != nullptr) to = read_struct(steps, "steps");
    RedistributionOptions planning = options_of(given, request.mesh.size());
    const auto cancel = optional_object_of(given.cancel, "options.cancel");
    if (cancel) planning.stop = cancel->source.get_token();
    const PlannedRedistribution planned = take(plan_redistribution(request, planning));
    if (to) check_room(to->num_steps, planned.path.steps.size(), "steps");
    if (summary != nullptr) write_struct(summarize(planned), summary, "summary");
    if (to) put_steps(planned.path, *to);
  });
}

shardwright_status shardwright_placement_from_text(const char* text, size_t size, uint32_t num_dims,
                                                   shardwright_placement* placement) {
  return guarded([&] {
    shardwright_placement& out = required(placement, "placement");
    out =
        take(redistribution::read_words(words_of(given_text(text, size, "text")), num_dims)).code();
  });
}

shardwright_status shardwright_placement_to_text(shardwright_placement placement, uint32_t num_axes,
                                                 char* buffer, size_t capacity, size_t* size) {
  return guarded([&] {
    const Placement read = placement_of(placement, num_axes, redistribution::kMaxDims, "");
    put_text(to_text(read, num_axes), buffer, capacity, size);
  });
}
