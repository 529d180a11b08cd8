#include "runtime/report/program/redistribution_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/redistribution/placement/shard_boxes.h"

namespace shardwright {
namespace {

using namespace redistribution;

std::vector<ReportedBox> boxes_of(const RedistributionCase& request, const Placement& placement) {
  const std::int64_t ranks = num_devices(request.mesh);
  if (ranks > RedistributionReport::kMostDrawnRanks) return {};
  std::map<Box, std::vector<std::int64_t>> holders;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const Box box = box_of(request.shape, request.mesh, placement, rank, Rounding::kCeil);
    if (num_elements(box) > 0) holders[box].push_back(rank);
  }
  std::vector<ReportedBox> boxes;
  boxes.reserve(holders.size());
  for (auto& [box, ranks_of_box] : holders)
    boxes.push_back({box, std::move(ranks_of_box)});
  return boxes;
}

// The place of a state in the report, which gets it if it is new.
std::size_t state_of(const Placement& placement, RedistributionReport& report) {
  std::vector<ReportedState>& states = report.states;
  const auto known = std::find_if(states.begin(), states.end(), [&](const ReportedState& state) {
    return state.placement == placement;
  });
  if (known != states.end()) return static_cast<std::size_t>(known - states.begin());
  const RedistributionCase& request = report.request;
  const std::int64_t held = largest_box(request.shape, request.mesh, placement);
  states.push_back({placement, held * request.itemsize, boxes_of(request, placement)});
  return states.size() - 1;
}

ReportedPath path_of(const PlannedRedistribution& planned, RedistributionReport& report) {
  ReportedPath path;
  path.us = planned.path.cost;
  path.is_optimal = planned.path.is_optimal;
  path.peak_bytes = planned.peak_bytes;
  Placement at = report.states.front().placement;
  for (const PathStep& step : planned.path.steps) {
    const RedistributionCase& request = report.request;
    const std::int64_t sent =
        sent_elements(request.shape, request.mesh, at, step.move) * request.itemsize;
    path.sent_bytes += sent;
    path.steps.push_back({step.move, sent, step.cost, state_of(step.after, report)});
    at = step.after;
  }
  return path;
}

}  // namespace

RedistributionReport make_redistribution_report(const RedistributionCase& request,
                                                const RedistributionOptions& options,
                                                std::span<const PlannedRedistribution> paths) {
  RedistributionReport report;
  report.request = request;
  report.options = options;
  state_of(effective_placement(request.mesh, request.source), report);
  for (const PlannedRedistribution& planned : paths)
    report.paths.push_back(path_of(planned, report));
  return report;
}

}  // namespace shardwright
