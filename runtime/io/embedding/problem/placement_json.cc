#include "runtime/io/embedding/problem/placement_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/nearest_name.h"

namespace shardwright {
namespace {

using embedding::GroupScope;
using embedding::ShardRanks;
using embedding::Table;
using embedding::TableGroup;
using embedding::TablePlacement;

constexpr std::array<std::string_view, 5> kPlacementKeys{"ranks", "hosts", "shard_ranks",
                                                         "max_shards", "distinct_ranks"};
constexpr std::array<std::string_view, 2> kScopes{"rank", "host"};

Status read_shard_ranks(JsonValue value, std::vector<ShardRanks>& out) {
  if (value.is_null()) return {};
  if (!value.is_object()) return value.expected("an object with a list of ranks per shard");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string_view key = value[i].key();
    ShardRanks& own = out.emplace_back();
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), own.shard);
    const bool whole = error == std::errc() && end == key.data() + key.size();
    if (!whole || key != std::to_string(own.shard) || own.shard < 0) {
      return value[i].error("\"" + std::string(key) +
                            "\" is not the number of a shard, such as \"0\"");
    }
    if (!value[i].is_array()) return value[i].expected("a list of ranks");
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[i], own.ranks));
  }
  return {};
}

Status read_names(JsonValue list, const std::unordered_set<std::string_view>& known,
                  const std::vector<Table>& tables, std::vector<std::string>& names) {
  if (!list.is_array()) return list.expected("a list of table names");
  if (list.size() == 0) return list.error("names no table");
  for (std::size_t i = 0; i < list.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view name, list[i].string());
    if (!known.contains(name)) return no_such_table(list[i], name, tables);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return list[i].error("table \"" + std::string(name) + "\" is named twice");
    }
    names.emplace_back(name);
  }
  return {};
}

Status read_scope(JsonValue value, GroupScope& scope) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, "scope", kScopes));
  scope = static_cast<GroupScope>(index);
  return {};
}

}  // namespace

void read_placement(ObjectReader& constraints, TablePlacement& placement) {
  constraints.optional("ranks", placement.ranks)
      .optional("hosts", placement.hosts)
      .optional_with("shard_ranks",
                     [&](JsonValue v) { return read_shard_ranks(v, placement.shard_ranks); })
      .optional("max_shards", placement.max_shards)
      .optional("distinct_ranks", placement.distinct_ranks);
}

bool is_placement_alone(JsonValue value) {
  bool placement = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string_view key = value[i].key();
    if (key == "note") continue;
    if (std::find(kPlacementKeys.begin(), kPlacementKeys.end(), key) == kPlacementKeys.end()) {
      return false;
    }
    placement = true;
  }
  return placement;
}

Status read_table_groups(JsonValue list, const std::vector<Table>& tables, GroupScope bare,
                         std::vector<TableGroup>& groups) {
  if (list.is_null()) return {};
  if (!list.is_array()) return list.expected("a list of groups of tables");
  std::unordered_set<std::string_view> known;
  for (const Table& table : tables)
    known.insert(table.name);
  for (std::size_t i = 0; i < list.size(); ++i) {
    TableGroup& group = groups.emplace_back();
    group.on = bare;
    const auto names = [&](JsonValue v) { return read_names(v, known, tables, group.tables); };
    if (list[i].is_array()) {
      SHARDWRIGHT_RETURN_IF_ERROR(names(list[i]));
    } else if (list[i].is_object()) {
      SHARDWRIGHT_RETURN_IF_ERROR(
          ObjectReader(list[i])
              .required_with("tables", names)
              .required_with("on", [&](JsonValue v) { return read_scope(v, group.on); })
              .ignore({"note"})
              .finish());
    } else {
      return list[i].expected("an object with `tables` and `on`, or a list of table names");
    }
  }
  return {};
}

Error no_such_table(JsonValue value, std::string_view name, const std::vector<Table>& tables) {
  std::vector<std::string_view> names;
  names.reserve(tables.size());
  for (const Table& table : tables)
    names.emplace_back(table.name);
  return value.error("no table is named \"" + std::string(name) + "\"" + suggestion(name, names));
}

}  // namespace shardwright
