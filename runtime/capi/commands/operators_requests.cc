#include <array>
#include <string_view>

#include "runtime/capi/commands/requests.h"

namespace shardwright::capi {
namespace {

constexpr std::array<std::string_view, 3> kPathCosts{"compat", "sum", "exact"};
constexpr std::array<std::string_view, 2> kCostModels{"v1", "v2"};
constexpr std::array<std::string_view, 2> kRedistributions{"shortest", "autoparallel"};
constexpr std::array<std::string_view, 2> kBlocks{"free", "equal"};

void read_limits(Request& json, OperatorsOptions& out) {
  json.count("threads", out.threads, 0, kMostThreads)
      .measure("time_limit", out.time_limit_s)
      .natural("work_limit", out.work_limit)
      .natural("seed", out.seed);
}

void read_overrides(Request& json, commands::AtenOverrides& out) {
  std::optional<std::size_t> redistribution;
  std::optional<std::size_t> blocks;
  json.bytes("memory", out.memory)
      .count("optimizer_states", out.optimizer_states, 0, 100)
      .text("device", out.device)
      .measure("overlap", out.overlap)
      .choice("redistribution", kRedistributions, redistribution)
      .choice("blocks", kBlocks, blocks);
  read_limits(json, out.limits);
  if (redistribution) {
    out.redistribution = *redistribution == 0 ? operators::RedistributionChoice::kShortest
                                              : operators::RedistributionChoice::kAutoParallel;
  }
  if (blocks)
    out.blocks = *blocks == 0 ? operators::BlockSharing::kFree : operators::BlockSharing::kEqual;
}

}  // namespace

Status read(Request& json, commands::BuildRequest& request) {
  std::optional<std::string> mesh;
  SHARDWRIGHT_RETURN_IF_ERROR(json.required_document("graph", request.graph)
                                  .mesh("mesh", mesh)
                                  .count("threads", request.threads, 0, kMostThreads)
                                  .finish());
  if (!mesh) return invalid_input("/mesh", "is needed, such as \"4x2\" or [4, 2]");
  request.mesh = *mesh;
  return {};
}

Status read(Request& json, commands::SolveRequest& request) {
  json.required_document("instance", request.instance)
      .bytes("budget", request.budget, 0)
      .flag("unmerged", request.unmerged);
  read_limits(json, request.options);
  return json.finish();
}

Status read(Request& json, commands::StrategiesRequest& request) {
  return json.required_document("file", request.file).finish();
}

Status read(Request& json, commands::PathsRequest& request) {
  std::optional<std::size_t> cost;
  SHARDWRIGHT_RETURN_IF_ERROR(
      json.required_document("file", request.file).choice("cost", kPathCosts, cost).finish());
  using operators::PathCost;
  constexpr std::array kCosts{PathCost::kCompat, PathCost::kSum, PathCost::kExact};
  if (cost) request.cost = kCosts[*cost];
  return {};
}

Status read(Request& json, commands::AutoshardRequest& request) {
  std::optional<std::size_t> model;
  SHARDWRIGHT_RETURN_IF_ERROR(json.required_document("graph", request.graph)
                                  .count("devices", request.devices, 1, kMostCount)
                                  .choice("cost_model", kCostModels, model)
                                  .flag("iterations", request.iterations)
                                  .count("threads", request.threads, 0, kMostThreads)
                                  .finish());
  using operators::autoshard::CostModel;
  if (model) request.cost_model = *model == 0 ? CostModel::kV1 : CostModel::kV2;
  return {};
}

Status read(Request& json, commands::AtenPlanRequest& request) {
  json.required_document("graph", request.graph)
      .document("options", request.options)
      .mesh("mesh", request.overrides.mesh);
  read_overrides(json, request.overrides);
  return json.finish();
}

Status read(Request& json, commands::AtenSweepRequest& request) {
  json.required_document("graph", request.graph)
      .document("options", request.options)
      .count("devices", request.devices, 1, kMostCount)
      .count("axes", request.most_axes, 1, 8);
  read_overrides(json, request.overrides);
  SHARDWRIGHT_RETURN_IF_ERROR(json.finish());
  return request.devices > 0 ? Status() : invalid_input("/devices", "is needed");
}

}  // namespace shardwright::capi
