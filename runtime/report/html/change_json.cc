#include "runtime/report/html/change_json.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/version.h"
#include "runtime/report/html/answer_json.h"

namespace shardwright {
namespace {

template <class Value>
void write_pair(const Change<Value>& change, JsonWriter& json) {
  json.value(change.from).value(change.to);
}

void write_place(const std::optional<TablePlace>& place, JsonWriter& json) {
  if (!place) {
    json.null();
    return;
  }
  json.begin_array().value(to_name(place->sharding_type)).value(to_name(place->compute_kernel));
  json.begin_array();
  const std::vector<std::int64_t>& ranks = place->ranks;
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;)
      ++end;
    json.value(ranks[begin]).value(end - begin);
  }
  json.end_array().end_array();
}

void write_tables(const PlanDiff& diff, JsonWriter& json) {
  json.new_line().key("tables").begin_array();
  for (const TableDifference& table : diff.tables) {
    json.new_line().begin_array().value(table.table).value(table.what).value(table.bytes);
    write_place(table.from, json);
    write_place(table.to, json);
    json.end_array();
  }
  json.end_array();
}

void write_ranks(const PlanDiff& diff, JsonWriter& json) {
  json.new_line().key("ranks").begin_array();
  for (const RankDifference& rank : diff.ranks) {
    json.begin_array();
    write_pair(rank.perf_ms, json);
    write_pair(rank.hbm_bytes, json);
    write_pair(rank.ddr_bytes, json);
    json.end_array();
  }
  json.end_array();
}

void write_flows(const embedding::RankFlows& flows, JsonWriter& json) {
  json.new_line().member("num_ranks", flows.ranks()).member("block", flows.ranks_per_block());
  json.key("flows").begin_array();
  for (std::int64_t from = 0; from < flows.num_blocks(); ++from) {
    for (std::int64_t to = 0; to < flows.num_blocks(); ++to) {
      const std::int64_t bytes = flows.bytes(from, to);
      if (bytes > 0) json.begin_array().value(from).value(to).value(bytes).end_array();
    }
  }
  json.end_array();
}

void write_names(const char* key, const std::vector<std::string>& names, JsonWriter& json) {
  json.key(key).begin_array();
  for (const std::string& name : names)
    json.value(name);
  json.end_array().new_line();
}

}  // namespace

void write_change(const PlanChange& change, JsonWriter& json) {
  const PlanDiff& diff = change.diff;
  json.key("change").begin_object().member("same_problem", diff.same_problem);
  json.member("problem_differs_in", diff.problem_differs_in.value_or(""))
      .key("rating")
      .begin_array();
  write_pair(diff.rating, json);
  json.end_array().member("kept", diff.tables_kept).member("moved", diff.tables_moved);
  json.member("added", diff.tables_added).member("removed", diff.tables_removed);
  json.member("moved_bytes", diff.moved_bytes).member("placed_bytes", diff.placed_bytes);
  write_tables(diff, json);
  write_ranks(diff, json);
  write_flows(change.flows, json);
  json.end_object().new_line();
}

void write_change_data(const PlanChange& change, const TextSink& sink) {
  JsonWriter json(without_markup(sink));
  json.begin_object().member("version", library_version()).new_line();
  write_change(change, json);
  json.end_object().finish();
}

void write_change_data(const ProblemDiff& diff, const TextSink& sink) {
  JsonWriter json(without_markup(sink));
  json.begin_object().member("version", library_version());
  json.member("search_differs", diff.search_differs).new_line();
  write_names("tables_added", diff.tables_added, json);
  write_names("tables_removed", diff.tables_removed, json);
  json.key("differences").begin_array();
  for (const FactDifference& fact : diff.facts)
    json.new_line().begin_array().value(fact.place).value(fact.from).value(fact.to).end_array();
  json.end_array().end_object().finish();
}

}  // namespace shardwright
