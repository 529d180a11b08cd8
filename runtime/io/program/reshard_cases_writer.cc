// Writes the answers to reshard cases: every rank's steps, inserted operators and counters.
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/json/json_writer.h"
#include "runtime/io/program/program_json.h"
#include "runtime/io/program/program_values_json.h"

namespace shardwright {
namespace {

using namespace internal;
using namespace program;

void write_part(JsonWriter& json, const Part& part) {
  json.begin_array();
  for (const Interval& interval : part) {
    json.begin_array().value(interval.begin).value(interval.end).end_array();
  }
  json.end_array();
}

void write_bounds(JsonWriter& json, const Part& part) {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  for (const Interval& interval : part) {
    starts.push_back(interval.begin);
    ends.push_back(interval.end);
  }
  member_list(json, "starts", starts);
  member_list(json, "ends", ends);
}

constexpr std::string_view step_name(StepKind kind) {
  switch (kind) {
    case StepKind::kAllGather:
      return "all_gather";
    case StepKind::kConcatGather:
      return "c_concat";
    case StepKind::kAllReduce:
      return "all_reduce";
    case StepKind::kReduceScatter:
      return "reduce_scatter";
    case StepKind::kAllToAll:
      return "all_to_all";
    case StepKind::kSend:
      return "send";
    case StepKind::kRecv:
      return "recv";
    case StepKind::kKeep:
      return "keep";
    case StepKind::kConcat:
      return "concat";
    case StepKind::kSlice:
      return "slice";
    case StepKind::kZero:
      return "zero";
    case StepKind::kEnd:
      return "end";
  }
  return "";
}

void write_step(JsonWriter& json, const Step& step, bool is_bool) {
  json.begin_object().member("op", step_name(step.kind));
  if (is_collective(step.kind)) member_list(json, "group", step.group);
  if (step.kind == StepKind::kAllGather) {
    json.member("need_split", step.need_split).member("is_bool", is_bool);
  }
  if (step.kind == StepKind::kAllReduce || step.kind == StepKind::kReduceScatter) {
    json.member("reduction", name_of(step.reduction));
  }
  if (step.kind == StepKind::kReduceScatter) json.member("dim", static_cast<int>(step.dim));
  if (step.kind == StepKind::kAllToAll) {
    json.member("split_dim", static_cast<int>(step.dim))
        .member("concat_dim", static_cast<int>(step.other_dim));
  }
  if (step.kind == StepKind::kSend || step.kind == StepKind::kRecv ||
      step.kind == StepKind::kKeep || step.kind == StepKind::kZero) {
    json.key("part");
    write_part(json, step.part);
  }
  if (step.kind == StepKind::kSend || step.kind == StepKind::kRecv) {
    json.member("src", step.src).member("dst", step.dst);
  }
  if (step.kind == StepKind::kConcat) {
    json.key("parts").begin_array();
    for (const Part& part : step.parts)
      write_part(json, part);
    json.end_array();
  }
  if (step.kind == StepKind::kSlice) write_bounds(json, step.part);
  json.end_object();
}

void write_inserted(JsonWriter& json, const RankReshard& rank) {
  json.begin_array();
  for (const auto& [type, shape] : rank.inserted) {
    json.begin_array().value(type);
    if (shape) write_list(json, *shape);
    json.end_array();
  }
  json.begin_array().value("=>");
  write_list(json, rank.result);
  json.end_array().end_array();
}

void write_mesh_moves(JsonWriter& json, const std::vector<redistribution::Move>& moves) {
  using Kind = redistribution::Move::Kind;
  json.begin_array();
  for (const redistribution::Move& move : moves) {
    json.begin_array().value(to_name(move.kind)).value(static_cast<int>(move.axes.front()));
    const bool gathers = move.kind == Kind::kAllGather || move.kind == Kind::kAllToAll;
    if (gathers) json.value(static_cast<int>(move.from));
    if (move.kind == Kind::kSplit || move.kind == Kind::kReduceScatter ||
        move.kind == Kind::kAllToAll) {
      json.value(static_cast<int>(move.to));
    }
    json.end_array();
  }
  json.end_array();
}

void write_reshard(JsonWriter& json, const ReshardCaseDocument& document,
                   const TensorReshard& answer) {
  const bool is_bool = document.request.type == DataType::kBool;
  json.new_line().begin_object().key("seq").begin_object();
  for (const auto& [rank, steps] : answer.plan.ranks) {
    json.key(std::to_string(rank)).begin_array();
    for (const Step& step : steps)
      write_step(json, step, is_bool);
    json.end_array();
  }
  json.end_object().key("inserted").begin_object();
  for (const RankReshard& rank : answer.ranks) {
    json.key(std::to_string(rank.rank));
    write_inserted(json, rank);
  }
  json.end_object().key("counters").begin_object();
  for (const RankReshard& rank : answer.ranks) {
    json.key(std::to_string(rank.rank));
    write_counters(json, rank.counters);
  }
  json.end_object();
  if (answer.mesh_moves) {
    json.key("steps");
    write_mesh_moves(json, *answer.mesh_moves);
  }
  json.member("cost_us", answer.us);
  if (answer.simulation) {
    json.key("simulated").begin_object().member("correct", answer.simulation->ok());
    if (!answer.simulation->ok()) json.member("problem", answer.simulation->problem);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

void write_reshards(const std::vector<ReshardCaseDocument>& cases,
                    const std::vector<TensorReshard>& answers, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_array();
  for (std::size_t i = 0; i < cases.size(); ++i)
    write_reshard(json, cases[i], answers[i]);
  json.end_array().finish();
}

}  // namespace shardwright
