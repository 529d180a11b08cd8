#include "runtime/program/reshard_tensor.h"

#include <algorithm>
#include <string>

#include "search/executor.h"
#include "search/program/best_planner.h"
#include "search/program/compat_planner.h"
#include "search/program/rank_pass.h"

namespace shardwright {
namespace {

using namespace program;

constexpr std::size_t kMaxRanks = 4096;

Status check_case(const ReshardCase& request) {
  const Status source = check(request.source, request.shape.size());
  if (!source.ok()) return invalid_input("/src" + source.error().where, source.error().message);
  const Status target = check(request.target, request.shape.size());
  if (!target.ok()) return invalid_input("/dst" + target.error().where, target.error().message);
  if (const Status status = check_extents(request.shape); !status.ok()) {
    return invalid_input("/shape", status.error().message);
  }
  if (request.source.mesh.size() > kMaxRanks || request.target.mesh.size() > kMaxRanks) {
    return Error{
        ErrorCode::kUnsupported,
        "every rank gets operators of its own, for at most " + std::to_string(kMaxRanks) + " ranks",
        ""};
  }
  return {};
}

// Makes a program of one tensor and one consumer.
Result<Program> program_of(const ReshardCase& request) {
  ProgramSpec spec;
  spec.meshes = {request.source.mesh, request.target.mesh};
  Variable tensor;
  tensor.name = "x";
  tensor.shape = request.shape;
  tensor.type = request.type;
  tensor.mesh = MeshId(0);
  tensor.dims_mapping = request.source.dims_mapping;
  tensor.partial = request.source.partial;
  spec.vars.push_back(std::move(tensor));
  Operation consumer;
  consumer.number = 0;
  consumer.type = "consumer";
  consumer.mesh = MeshId(1);
  consumer.inputs.push_back({VarId(0), 0, request.target.dims_mapping});
  spec.ops.emplace_back(BlockId(0), std::move(consumer));
  return Program::make(std::move(spec));
}

Requests requests_of(const ReshardCase& request) {
  Requests requests;
  Request wanted;
  wanted.anchor = wanted.consumer = OpId(0);
  wanted.var = VarId(0);
  wanted.source_mesh = MeshId(0);
  requests.requests.push_back(wanted);
  requests.demands.push_back(
      {VarId(0), 0, MeshId(1), request.target.dims_mapping, request.target.partial, true, {0}});
  requests.shapes.resize(1);
  return requests;
}

Shape share_of(const ReshardCase& request, Rank rank) {
  const auto position = request.source.mesh.position_of(rank);
  return shape_of(part_at(request.shape, request.source, position.value_or(0)));
}

RankReshard summary_of(const ReshardCase& request, const RankProgram& result) {
  RankReshard summary;
  summary.rank = result.rank;
  summary.counters = result.counters;
  const Program& program = result.program;
  for (OpId id = program.block(BlockId(0)).first; id.valid(); id = program.next(id)) {
    const Operation& op = program.op(id);
    if (!op.is_inserted) continue;
    std::optional<Shape> shape;
    if (!op.outputs.empty()) shape = program.var(op.outputs.front().var).shape;
    summary.inserted.emplace_back(op.type, shape);
  }
  const Variable& read = program.var(program.op(OpId(0)).inputs.front().var);
  summary.result = read.is_local ? read.shape : share_of(request, result.rank);
  return summary;
}

PlanMode mode_of(const TensorReshardOptions& options) {
  if (!options.compat) return PlanMode::kBest;
  return options.mesh_steps ? PlanMode::kCompatMesh : PlanMode::kCompat;
}

std::vector<Rank> ranks_of(const ReshardCase& request) {
  std::vector<Rank> ranks = request.source.mesh.ids();
  const std::vector<Rank>& others = request.target.mesh.ids();
  ranks.insert(ranks.end(), others.begin(), others.end());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

void add_mesh_moves(const ReshardCase& request, const TensorReshardOptions& options,
                    TensorReshard& result) {
  if (!(request.source.mesh == request.target.mesh)) return;
  if (options.compat) {
    const bool partial = request.source.has_partial() || request.target.has_partial();
    if (partial || options.mesh_steps) {
      result.mesh_moves = compat_mesh_moves(request.source, request.target);
    }
    return;
  }
  const MeshCosts costs(options.cluster, request.source.mesh, request.shape, request.type);
  const redistribution::Path path =
      cheapest_moves(costs, placed(request.source).placement, placed(request.target).placement);
  if (!path.found) return;
  std::vector<redistribution::Move>& moves = result.mesh_moves.emplace();
  for (const redistribution::PathStep& step : path.steps)
    moves.push_back(step.move);
}

}  // namespace

Result<TensorReshard> reshard_tensor(const ReshardCase& request,
                                     const TensorReshardOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_case(request));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Program program, program_of(request));
  const Requests requests = requests_of(request);
  InlineExecutor executor;
  PlanStore store(program, options.cluster, mode_of(options), options.stop);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Schedule schedule,
                               Schedule::make(program, requests, store, executor));
  TensorReshard result;
  result.plan = schedule.decisions().front().entry->plan;
  result.us = plan_us(options.cluster, request.shape, request.type, request.source, result.plan);
  add_mesh_moves(request, options, result);
  ReshardOptions rank_options;
  rank_options.compat = options.compat;
  rank_options.sync = options.sync;
  const std::vector<Rank> ranks = ranks_of(request);
  for (const Rank rank : ranks) {
    if (options.stop.stop_requested()) {
      return Error{ErrorCode::kStopped, "the resharding was cancelled", ""};
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(RankProgram changed,
                                 reshard_rank(program, requests, schedule, rank_options, rank));
    result.ranks.push_back(summary_of(request, changed));
  }
  const auto count = static_cast<std::int64_t>(ranks.size());
  if (num_elements(request.shape) <= options.largest_simulation / count) {
    result.simulation = simulate(request.shape, request.source, request.target, result.plan);
  } else if (options.compat) {
    result.simulation = store.simulate(*schedule.decisions().front().entry);
  }
  return result;
}

}  // namespace shardwright
