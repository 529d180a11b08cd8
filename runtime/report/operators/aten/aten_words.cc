#include "runtime/report/operators/aten/aten_words.h"

#include <array>

namespace shardwright {
namespace {

using namespace operators;

std::string joined(const redistribution::Shape& extents) {
  std::string text;
  for (const std::int64_t extent : extents)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::string axis_text(const redistribution::AxisPlacement& placement) {
  if (placement.is_replicate()) return "R";
  if (placement.is_shard()) return "S" + std::to_string(placement.dim);
  return "P";
}

}  // namespace

std::string mesh_text(const redistribution::MeshShape& mesh) {
  std::string text;
  for (const std::int64_t devices : mesh)
    text += (text.empty() ? "" : "x") + std::to_string(devices);
  return text;
}

std::string shape_text(const AtenTensor& tensor) {
  return tensor.shape.empty() ? "scalar" : joined(tensor.shape);
}

std::string_view type_text(const AtenTensor& tensor) {
  return aten_type_names()[static_cast<std::size_t>(tensor.type)];
}

std::string_view operator_text(const AtenNode& node) {
  constexpr std::string_view kLibrary = "aten.", kOverload = ".default";
  std::string_view text = node.op;
  if (text.starts_with(kLibrary)) text.remove_prefix(kLibrary.size());
  if (text.ends_with(kOverload)) text.remove_suffix(kOverload.size());
  return text;
}

std::string_view role_text(AtenRole role) {
  constexpr std::array<std::string_view, 5> kNames{"", "parameter", "buffer", "input", "tangent"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string_view module_text(const AtenNode& node) {
  return node.module.empty() ? std::string_view("(no module)") : std::string_view(node.module);
}

std::string placement_text(const MaybePlacement& placement, std::size_t num_axes) {
  if (!placement) return "-";
  std::string text;
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    text += (text.empty() ? "" : " ") + axis_text(placement->on(axis));
  return text;
}

std::string outcome_text(const AtenPlanResult& result) {
  switch (result.status) {
    case SolveStatus::kOptimal:
      return "Optimal: no plan takes less time.";
    case SolveStatus::kFeasible:
      return "Stopped before the proof that no plan takes less time.";
    case SolveStatus::kInfeasible:
      return result.shortage ? "No plan fits: " + shortage_text(*result.shortage) + "."
                             : "No plan satisfies the placements that were asked for.";
    case SolveStatus::kUnknown:
      return "Stopped before any plan was found" +
             (result.shortage ? ": " + shortage_text(*result.shortage) : "") + ".";
  }
  return "";
}

std::string time_point_text(const AtenGraph& graph, std::size_t time_point) {
  return time_point < graph.size() ? graph[time_point].name : "the end";
}

}  // namespace shardwright
