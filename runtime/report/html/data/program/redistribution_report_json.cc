#include "runtime/report/html/data/program/redistribution_report_json.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "core/redistribution/placement/placement_notation.h"
#include "core/version.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/report/html/data/markup.h"

namespace shardwright {
namespace {

using namespace redistribution;

template <class List>
void write_list(const char* key, const List& list, JsonWriter& json) {
  json.key(key).begin_array();
  for (const auto& item : list)
    json.value(item);
  json.end_array();
}

void write_model(const DTensorModel& model, JsonWriter& json) {
  json.member("model", "dtensor").member("devices_per_host", model.devices_per_host);
}
void write_model(const RingModel& model, JsonWriter& json) {
  json.member("model", "rings").member("copy_gb_per_s", model.copy_gb_per_s);
  json.member("groups", model.groups).key("links").begin_array();
  for (const AxisLink& link : model.links)
    json.begin_array().value(link.latency_us).value(link.bandwidth_gb_per_s).end_array();
  json.end_array();
}

void write_request(const RedistributionReport& report, JsonWriter& json) {
  const RedistributionCase& request = report.request;
  write_list("mesh", request.mesh, json);
  write_list("shape", request.shape, json);
  json.member("item_bytes", request.itemsize);
  write_list("source", to_words(request.source, request.mesh.size()), json);
  write_list("target", to_words(request.target, request.mesh.size()), json);
  json.new_line().key("costs").begin_object();
  std::visit([&](const auto& model) { write_model(model, json); }, report.options.model);
  json.end_object().key("limits").begin_object();
  json.member("memory_bytes", report.options.memory_bytes);
  json.member("collectives", report.options.collectives).end_object().new_line();
}

std::vector<std::size_t> cut_dims(const RedistributionReport& report) {
  std::vector<std::size_t> dims;
  for (std::size_t dim = 0; dim < report.request.shape.size(); ++dim) {
    const bool is_cut =
        std::any_of(report.states.begin(), report.states.end(),
                    [&](const ReportedState& state) { return state.placement.num_axes(dim) > 0; });
    if (is_cut) dims.push_back(dim);
  }
  return dims;
}

void write_runs(const std::vector<std::int64_t>& ranks, JsonWriter& json) {
  json.begin_array();
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;)
      ++end;
    json.value(ranks[begin]).value(end - begin);
  }
  json.end_array();
}

void write_state(const RedistributionReport& report, const ReportedState& state,
                 const std::vector<std::size_t>& dims, JsonWriter& json) {
  const std::size_t axes = report.request.mesh.size();
  json.new_line().begin_object();
  write_list("placement", to_words(state.placement, axes), json);
  json.key("partial").begin_array();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (state.placement.is_partial(axis)) json.value(axis);
  }
  json.end_array().member("held", state.held_bytes).key("boxes").begin_array();
  for (const ReportedBox& box : state.boxes) {
    json.begin_array();
    for (const std::size_t dim : dims)
      json.value(box.box[dim].begin).value(box.box[dim].end);
    write_runs(box.ranks, json);
    json.end_array();
  }
  json.end_array().end_object();
}

void write_path(const ReportedPath& path, JsonWriter& json) {
  json.new_line()
      .begin_object()
      .member("us", path.us)
      .member("is_optimal", path.is_optimal)
      .member("peak", path.peak_bytes)
      .member("sent", path.sent_bytes)
      .key("steps")
      .begin_array();
  for (const ReportedStep& step : path.steps) {
    json.begin_array().value(to_name(step.move.kind)).begin_array();
    for (const std::uint8_t axis : step.move.axes)
      json.value(static_cast<int>(axis));
    json.end_array().value(to_text(step.move)).value(step.sent_bytes).value(step.us);
    json.value(step.after).end_array();
  }
  json.end_array().end_object();
}

}  // namespace

void write_redistribution_report(const RedistributionReport& report, const TextSink& sink) {
  JsonWriter json(without_markup(sink));
  json.begin_object()
      .member("format", "shardwright.redistribution.report/1")
      .member("version", library_version())
      .new_line();
  write_request(report, json);
  const std::vector<std::size_t> dims = cut_dims(report);
  write_list("dims", dims, json);
  json.key("states").begin_array();
  for (const ReportedState& state : report.states)
    write_state(report, state, dims, json);
  json.end_array().new_line().key("paths").begin_array();
  for (const ReportedPath& path : report.paths)
    write_path(path, json);
  json.end_array().end_object().finish();
}

}  // namespace shardwright
