#include "runtime/report/html/answer_json.h"

#include <string>
#include <string_view>

#include "core/version.h"
#include "runtime/io/embedding/answers_json.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/operators/aten_plan_json.h"

namespace shardwright {

TextSink without_markup(const TextSink& sink) {
  return [&sink](std::string_view text) {
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text) {
      if (c == '<') {
        safe += "\\u003c";
      } else {
        safe += c;
      }
    }
    sink(safe);
  };
}

std::string escaped_markup(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

namespace {

// Writes one object to `sink`, with "<" escaped: "version", then the members that
// `write_members(json)` adds, then "answer" with the JSON that `write_answer(text_sink)` writes.
template <class WriteMembers, class WriteAnswer>
void write_data(const WriteMembers& write_members, const WriteAnswer& write_answer,
                const TextSink& sink) {
  std::string answer;
  write_answer([&](std::string_view piece) { answer += piece; });
  JsonWriter json(without_markup(sink));
  json.begin_object().member("version", library_version());
  write_members(json);
  json.key("answer").raw(answer).end_object().finish();
}

}  // namespace

void write_sweep_data(const SweepAnswer& sweep, const TextSink& sink) {
  write_data(
      [&](JsonWriter& json) { json.member("rating_in", sweep.rates_bytes() ? "bytes" : "ms"); },
      [&](const TextSink& answer) { write_json(sweep, answer); }, sink);
}

void write_sweep_data(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                      const AtenSweep& sweep, const TextSink& sink) {
  const auto write_members = [&](JsonWriter& json) {
    json.member("model", graph.model()).member("nodes", graph.size());
    json.member("device", options.device).member("memory_limit", options.memory_limit);
  };
  write_data(
      write_members, [&](const TextSink& answer) { write_json(mesh_sweep(sweep), answer); }, sink);
}

void write_saved_data(std::string_view title, std::string_view file, std::string_view answer,
                      const TextSink& sink) {
  write_data([&](JsonWriter& json) { json.member("title", title).member("file", file); },
             [&](const TextSink& whole) { whole(answer); }, sink);
}

}  // namespace shardwright
