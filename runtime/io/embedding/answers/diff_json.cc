#include "runtime/io/embedding/answers/diff_json.h"

#include <string_view>

#include "runtime/io/embedding/plan/migration_json.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {
namespace {

template <class Value>
void write_change(std::string_view key, const Change<Value>& change, JsonWriter& json) {
  json.key(key).begin_array().value(change.from).value(change.to).end_array();
}

void write_tables(const PlanDiff& diff, JsonWriter& json) {
  json.new_line().key("tables").begin_array();
  for (const TableDifference& table : diff.tables) {
    json.new_line().begin_object().member("table", table.table).member("what", table.what());
    for (const auto& [key, place] : {std::pair{"from", &table.from}, std::pair{"to", &table.to}}) {
      json.key(key);
      *place ? write_place(**place, json) : static_cast<void>(json.null());
    }
    json.member("bytes", table.bytes).end_object();
  }
  json.end_array();
}

void write_ranks(const PlanDiff& diff, JsonWriter& json) {
  json.new_line().key("ranks").begin_array();
  for (const RankDifference& rank : diff.ranks) {
    json.new_line().begin_object();
    write_change("perf", rank.perf_ms, json);
    write_change("hbm", rank.hbm_bytes, json);
    write_change("ddr", rank.ddr_bytes, json);
    if (rank.ssd_bytes.from || rank.ssd_bytes.to) write_change("ssd", rank.ssd_bytes, json);
    json.end_object();
  }
  json.end_array();
}

void write_names(std::string_view key, const std::vector<std::string>& names, JsonWriter& json) {
  json.new_line().key(key).begin_array();
  for (const std::string& name : names)
    json.value(name);
  json.end_array();
}

}  // namespace

void write_diff(const PlanDiff& diff, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object()
      .new_line()
      .member("kind", "plans")
      .member("same", diff.same())
      .member("same_problem", diff.same_problem)
      .key("problem_differs_in");
  diff.problem_differs_in.empty() ? json.null() : json.value(diff.problem_differs_in);
  write_change("rating", diff.rating, json);
  json.new_line()
      .member("tables_kept", diff.tables_kept)
      .member("tables_moved", diff.tables_moved)
      .member("tables_added", diff.tables_added)
      .member("tables_removed", diff.tables_removed)
      .member("moved_bytes", diff.moved_bytes)
      .member("placed_bytes", diff.placed_bytes);
  write_tables(diff, json);
  write_ranks(diff, json);
  json.new_line().end_object().finish();
}

void write_diff(const ProblemDiff& diff, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object()
      .new_line()
      .member("kind", "problems")
      .member("same", diff.same())
      .member("search_differs", diff.search_differs);
  write_names("tables_added", diff.tables_added, json);
  write_names("tables_removed", diff.tables_removed, json);
  json.new_line().key("differences").begin_array();
  for (const FactDifference& fact : diff.facts) {
    json.new_line()
        .begin_object()
        .member("where", fact.place)
        .member("from", fact.from)
        .member("to", fact.to)
        .end_object();
  }
  json.end_array().new_line().end_object().finish();
}

}  // namespace shardwright
