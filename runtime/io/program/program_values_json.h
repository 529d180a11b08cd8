// Writes the values that answers to reshard cases and programs have in common.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/io/json/json_writer.h"
#include "search/program/reshard_program.h"

namespace shardwright::internal {

template <class List>
void write_list(JsonWriter& json, const List& list) {
  json.begin_array();
  for (const auto& value : list)
    json.value(static_cast<std::int64_t>(value));
  json.end_array();
}

template <class List>
void member_list(JsonWriter& json, std::string_view key, const List& list) {
  json.key(key);
  write_list(json, list);
}

inline void write_counters(JsonWriter& json, const program::ReshardCounters& counters) {
  json.begin_object()
      .member("planner_calls", counters.planner_calls)
      .member("edits", counters.edits)
      .member("inserted_ops", counters.inserted_ops)
      .member("commits", counters.commits)
      .member("mirror_syncs", counters.mirror_syncs)
      .member("items_scanned", counters.items_scanned)
      .end_object();
}

}  // namespace shardwright::internal
