#include <algorithm>
#include <string_view>

#include "runtime/capi/commands/requests.h"

namespace shardwright::capi {
namespace {

// Empty = any.
Status read_group_sizes(JsonValue value, std::optional<std::vector<std::int64_t>>& out) {
  out.emplace();
  if (value.is_string() && *value.string() == "any") return {};
  for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t size, read_count(value[i], 1, kMostCount));
    out->push_back(size);
  }
  if (!value.is_array()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t size, read_count(value, 1, kMostCount));
    out->push_back(size);
  }
  std::sort(out->begin(), out->end());
  return {};
}

void read_pod_sizes(Request& json, std::optional<std::vector<std::int64_t>>& out) {
  std::vector<std::int64_t> sizes;
  json.counts("pod_size", sizes);
  if (sizes.empty()) return;
  std::sort(sizes.begin(), sizes.end());
  out = std::move(sizes);
}

// What a sweep does not make lists of.
void read_machine(Request& json, ProblemOverrides& out) {
  json.bytes("ddr", out.ddr_bytes)
      .bytes("ssd", out.ssd_bytes)
      .member("device", [&](JsonValue value) { return read_value(value, out.device); })
      .member("torchrec", [&](JsonValue value) { return read_value(value, out.torchrec); })
      .member("sharding_group_size",
              [&](JsonValue value) { return read_group_sizes(value, out.group_sizes); })
      .count("sync_interval", out.sync_interval, 1, kMostCount);
  read_pod_sizes(json, out.pod_sizes);
}

void read_overrides(Request& json, ProblemOverrides& out) {
  read_machine(json, out);
  json.count("ranks", out.ranks, 1, kMostCount)
      .count("ranks_per_host", out.ranks_per_host, 1, kMostCount)
      .bytes("hbm", out.hbm_bytes)
      .count("batch_size", out.batch_size, 1, kMostCount);
}

void read_problem(Request& json, commands::ProblemRequest& out) {
  json.required_document("problem", out.problem);
  read_overrides(json, out.overrides);
}

void read_options(Request& json, PlanOptions& out) {
  std::optional<std::size_t> mode;
  json.choice("mode", kPlanModeNames, mode)
      .count("threads", out.threads, 0, kMostThreads)
      .measure("time_limit", out.time_limit_s)
      .natural("work_limit", out.work_limit)
      .natural("seed", out.seed)
      .count("lanes", out.lanes, embedding::kLeastLanes, embedding::kMostLanes);
  if (mode) out.mode = static_cast<PlanMode>(*mode);
}

void read_contents(Request& json, PlanOptions& options, commands::PlanContents& contents) {
  json.flag("trace", options.trace)
      .flag("emit_search_space", contents.search_space)
      .flag("stats", contents.stats);
}

}  // namespace

Status read(Request& json, commands::ProblemRequest& request) {
  read_problem(json, request);
  return json.finish();
}

Status read(Request& json, commands::PlanRequest& request) {
  read_problem(json, request.problem);
  json.document("search_space", request.problem.search_space)
      .document("reuse", request.reuse)
      .document("resume", request.resume);
  read_options(json, request.options);
  read_contents(json, request.options, request.contents);
  return json.finish();
}

Status read(Request& json, commands::ReplanRequest& request) {
  std::optional<double> weight;
  read_problem(json, request.problem);
  json.document("search_space", request.problem.search_space)
      .required_document("plan", request.plan)
      .measure("migration_weight", weight);
  read_options(json, request.options);
  read_contents(json, request.options, request.contents);
  request.migration_weight = weight.value_or(0);
  return json.finish();
}

Status read(Request& json, commands::VerifyRequest& request) {
  read_problem(json, request.problem);
  return json.document("search_space", request.problem.search_space)
      .required_document("plan", request.plan)
      .document("old_plan", request.old_plan)
      .measure("time_limit", request.time_limit_s)
      .flag("stats", request.stats)
      .finish();
}

Status read(Request& json, commands::ExplainRequest& request) {
  read_problem(json, request.problem);
  read_options(json, request.options);
  return json.document("search_space", request.problem.search_space)
      .document("plan", request.plan)
      .text("table", request.table)
      .finish();
}

Status read(Request& json, commands::SweepRequest& request) {
  json.required_document("problem", request.problem.problem)
      .counts("ranks", request.grid.ranks)
      .bytes_list("hbm", request.grid.hbm_bytes)
      .counts("batch_size", request.grid.batch_sizes)
      .measures("price", request.grid.rank_prices)
      .count("ranks_per_host", request.grid.ranks_per_host, 1, kMostCount);
  read_machine(json, request.problem.overrides);
  read_options(json, request.options);
  return json.finish();
}

Status read(Request& json, commands::DiffRequest& request) {
  json.required_document("plan_a", request.from).required_document("plan_b", request.to);
  read_overrides(json, request.overrides);
  return json.finish();
}

Status read(Request& json, commands::EnumerateRequest& request) {
  read_problem(json, request.problem);
  return json.flag("runs", request.runs).finish();
}

}  // namespace shardwright::capi
