#include "runtime/io/embedding/plan/migration_json.h"

#include "runtime/io/embedding/plan/certificate_json.h"

namespace shardwright {

void write_place(const TablePlace& place, JsonWriter& json) {
  json.begin_object()
      .member("sharding_type", to_name(place.sharding_type))
      .member("compute_kernel", to_name(place.compute_kernel))
      .member("load_factor", place.load_factor)
      .key("ranks")
      .begin_array();
  for (const std::int64_t rank : place.ranks)
    json.value(rank);
  json.end_array().end_object();
}

void write_migration(const embedding::Problem& problem, const Migration& migration,
                     JsonWriter& json) {
  json.begin_object()
      .member("weight", migration.weight)
      .member("rating_before", migration.rating_before)
      .key("not_kept");
  migration.not_kept.empty() ? json.null() : json.value(migration.not_kept);
  json.member("rating_kept", migration.rating_kept)
      .member("objective", migration.objective)
      .member("lower_bound", migration.lower_bound);
  if (migration.certificate) {
    json.key("certificate");
    write_certificate(*migration.certificate, json);
  }
  std::size_t moved = 0;
  for (const TableMove& move : migration.moves)
    moved += move.from ? 1U : 0U;
  json.member("moved_bytes", migration.moved_bytes)
      .member("placed_bytes", migration.placed_bytes)
      .member("tables_kept", migration.tables_kept)
      .member("tables_moved", moved)
      .member("tables_new", migration.moves.size() - moved)
      .key("dropped")
      .begin_array();
  for (const std::string& table : migration.dropped)
    json.value(table);
  json.end_array().new_line().key("moves").begin_array();
  for (const TableMove& move : migration.moves) {
    json.new_line()
        .begin_object()
        .member("table", problem.table(move.table).name)
        .member("module", problem.table(move.table).module)
        .key("from");
    move.from ? write_place(*move.from, json) : static_cast<void>(json.null());
    json.key("to");
    write_place(move.to, json);
    json.member("bytes", move.bytes).end_object();
  }
  json.end_array().end_object();
}

}  // namespace shardwright
