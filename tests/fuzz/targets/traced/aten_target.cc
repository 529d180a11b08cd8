// Input: a traced model and options. The model is planned on a small mesh, and the verifier accepts
// the plan, or the search says why there is none.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/io/json/json_document.h"
#include "runtime/io/operators/aten_graph_json.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/aten_plan_json.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

constexpr std::size_t kMostNodes = 40;
constexpr std::size_t kMostEntries = 8;
constexpr std::uint64_t kMostWork = 20'000;

bool is_small(const operators::AtenGraph& graph) {
  if (graph.size() > kMostNodes) return false;
  for (const operators::AxisRule& rule : graph.rules()) {
    if (rule.entries.size() > kMostEntries) return false;
  }
  return true;
}

void plan(const operators::AtenGraph& graph, PlanAtenOptions options) {
  options.limits.threads = 1;
  options.limits.time_limit_s.reset();
  options.limits.work_limit = kMostWork;
  const Result<AtenPlanResult> result = plan_aten(graph, options);
  if (!result.ok()) {
    expect(result.error().code != ErrorCode::kVerificationFailed, "search and verifier agree");
    return;
  }
  const operators::AtenEvaluation& evaluation = result->evaluation;
  expect(evaluation.violations.empty(), "the verifier accepts every plan");
  if (result->plan) {
    expect(result->lower_bound_us <= evaluation.total_us() * (1 + 1e-9),
           "no plan costs less than the bound");
    expect(!options.memory_limit || evaluation.peak_bytes <= *options.memory_limit,
           "plans keep the memory limit");
  }
  const std::string text =
      written_by([&](const TextSink& sink) { write_aten_plan(graph, options, *result, sink); });
  expect(JsonDocument::parse(text).ok(), "a plan is JSON");
}

PlanAtenOptions plain_options() {
  PlanAtenOptions options;
  options.mesh = {2, 2};
  return options;
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  constexpr std::string_view kSeparator = "\n===\n";
  const std::string_view text = fuzz::text_of(data, size);
  const std::size_t end = text.find(kSeparator);
  const auto graph = read_aten_graph(text.substr(0, end));
  if (!graph.ok() || !fuzz::is_small(*graph)) return fuzz::kDone;
  if (end != std::string_view::npos) {
    auto options = read_aten_options(text.substr(end + kSeparator.size()));
    if (options.ok() && options->mesh.size() <= 2) fuzz::plan(*graph, *std::move(options));
    return fuzz::kDone;
  }
  fuzz::plan(*graph, fuzz::plain_options());
  return fuzz::kDone;
}
