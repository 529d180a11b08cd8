// Input: a redistribution file. Every step of the answer is possible, the steps lead to the target
// within the limits, and the figures are those of the steps.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/redistribution/placement/move.h"
#include "core/redistribution/placement/placement.h"
#include "runtime/io/program/redistribution_json.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

using namespace redistribution;

// Larger searches take seconds under a sanitizer.
constexpr std::size_t kMostAxes = 4;
constexpr std::size_t kMostDims = 4;

bool is_small(const RedistributionCase& request) {
  return request.mesh.size() <= kMostAxes && request.shape.size() <= kMostDims;
}

void expect_sound(const RedistributionDocument& document, const PlannedRedistribution& answer) {
  const auto& [mesh, shape, itemsize, source, target] = document.request;
  Placement at = effective_placement(mesh, source);
  std::int64_t peak = largest_box(shape, mesh, at);
  double cost = 0;
  for (const PathStep& step : answer.path.steps) {
    expect(check_move(mesh, shape, at, step.move).ok(), "every step is possible");
    const std::int64_t held = largest_box(shape, mesh, at);
    at = after(at, step.move);
    expect(at == step.after, "a step says where it leads");
    peak = std::max(peak, held + largest_box(shape, mesh, at));
    cost += step.cost;
  }
  expect(at == effective_placement(mesh, target), "a path ends at its target");
  expect(close(cost, answer.path.cost), "a path costs what its steps cost");
  expect(peak * itemsize == answer.peak_bytes, "the peak is that of the steps");
  const RedistributionOptions& options = document.options;
  if (options.memory_bytes && !answer.path.steps.empty()) {
    expect(answer.peak_bytes <= *options.memory_bytes, "the memory holds");
  }
  if (options.collectives) {
    expect(answer.path.num_collectives() <= *options.collectives, "the collectives are limited");
  }
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const auto document = read_redistribution(fuzz::text_of(data, size));
  if (!document.ok()) {
    fuzz::expect(!document.error().message.empty(), "every error has a message");
    return fuzz::kDone;
  }
  if (!fuzz::is_small(document->request)) return fuzz::kRejected;
  const auto answer = plan_redistribution(document->request, document->options);
  if (!answer.ok()) {
    fuzz::expect(!answer.error().message.empty(), "every error has a message");
    return fuzz::kDone;
  }
  fuzz::expect_sound(*document, *answer);
  const std::string text = fuzz::written_by(
      [&](const TextSink& sink) { write_redistribution(*document, *answer, sink); });
  fuzz::expect(nlohmann::json::accept(text), "an answer is JSON");
  return fuzz::kDone;
}
