#include "runtime/io/embedding/claims/compat_again.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/plan/plan_json.h"

namespace shardwright {
namespace {

constexpr std::uint64_t kMostPlacedShards = std::uint64_t{1} << 27;

}  // namespace

Result<std::optional<JsonDocument>> plan_in_compat_mode(
    const std::shared_ptr<const embedding::Problem>& problem,
    std::shared_ptr<const embedding::SearchSpace> search_space, bool trace, const Budget& budget) {
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.trace = trace;
  options.work_limit = kMostPlacedShards;
  std::stop_source source;
  options.stop = source.get_token();
  options.on_progress = [&](const PlanProgress&) {
    if (budget.interrupted()) source.request_stop();
  };
  SHARDWRIGHT_ASSIGN_OR_RETURN(const EmbeddingPlanResult result,
                               plan_embedding(problem, options, std::move(search_space)));
  if (result.stopped_by != StopReason::kFinished) return std::optional<JsonDocument>();
  std::string text;
  PlanJsonOptions form;
  form.trace = trace;
  write_plan(*problem, result, form, [&](std::string_view piece) { text += piece; });
  SHARDWRIGHT_ASSIGN_OR_RETURN(JsonDocument file, JsonDocument::parse(text));
  return std::optional<JsonDocument>(std::move(file));
}

}  // namespace shardwright
