#include "runtime/io/embedding/certificate_json.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/json/json_members.h"

namespace shardwright {
namespace {

using embedding::BoundCertificate;
using embedding::BoundNode;
using embedding::OptionId;
using embedding::TableId;

// Most ranks in a certificate.
constexpr std::int64_t kMostRanks = 1 << 24;

void write_multipliers(const std::vector<embedding::CapacityMultipliers>& multipliers,
                       JsonWriter& json) {
  json.begin_array();
  for (const embedding::CapacityMultipliers& own : multipliers) {
    json.begin_array().value(own.load).value(own.hbm).value(own.ddr);
    if (own.ssd != 0) json.value(own.ssd);
    json.end_array();
  }
  json.end_array();
}

// Writes the remaining members of an inner node and ends its object.
void write_division(const BoundNode& node, JsonWriter& json) {
  if (node.uniform_split) {
    const embedding::UniformSplit& split = *node.uniform_split;
    const std::string_view resource = split.tier ? embedding::to_name(*split.tier) : "load";
    json.key("uniform").begin_object().member("class", split.rank_class);
    json.member(resource, split.at).end_object().end_object();
    return;
  }
  if (node.tables.size() == 1) {
    json.member("cut", node.tables.front().value());
  } else {
    json.key("cut").begin_array();
    for (const TableId table : node.tables)
      json.value(table.value());
    json.end_array().member("count", node.count);
  }
  json.key("parts").begin_array();
  for (const embedding::OptionDomain& part : node.first_child)
    json.begin_array().value(part.option.value()).value(part.classes).end_array();
  json.end_array().end_object();
}

void write_node(const BoundNode& node, JsonWriter& json) {
  json.new_line().begin_object();
  if (!node.fixing.empty()) {
    json.key("fixing").begin_array();
    for (const auto& multipliers : node.fixing)
      write_multipliers(multipliers, json);
    json.end_array();
  }
  if (!node.is_leaf) return write_division(node, json);
  if (node.by_search) json.member("by_search", true);
  json.key("prices");
  write_multipliers(node.multipliers, json);
  if (!node.shard_duals.empty()) {
    json.key("shard_duals").begin_array();
    for (const embedding::ShardDual& shard : node.shard_duals) {
      json.begin_array()
          .value(shard.option.value())
          .value(shard.run)
          .value(shard.value)
          .end_array();
    }
    json.end_array().key("max_pattern_values").begin_array();
    for (const double value : node.max_pattern_values)
      json.value(value);
    json.end_array();
    if (!node.whole_multipliers.empty()) {
      json.key("whole_prices");
      write_multipliers(node.whole_multipliers, json);
    }
  }
  json.end_object();
}

// Reads a list of lists of `size` numbers each.
Status read_rows(JsonValue value, std::size_t size, std::vector<std::vector<double>>& rows) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != size) {
      return value[i].expected("a list of " + std::to_string(size) + " numbers");
    }
  }
  return {};
}

Result<std::uint32_t> index_of(JsonValue place, double number) {
  constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
  if (!(number >= 0) || number > kMost ||
      number != static_cast<double>(static_cast<std::uint32_t>(number))) {
    return place.expected("a whole number");
  }
  return static_cast<std::uint32_t>(number);
}

Status read_parts(JsonValue value, BoundNode& node) {
  std::vector<std::vector<double>> rows;
  SHARDWRIGHT_RETURN_IF_ERROR(read_rows(value, 2, rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint32_t option, index_of(value[i], rows[i][0]));
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint32_t classes, index_of(value[i], rows[i][1]));
    node.first_child.push_back({OptionId(option), classes});
  }
  return {};
}

// Reads the table or tables that an inner node divides.
Status read_tables(JsonValue value, BoundNode& node, std::vector<TableId>& tables) {
  std::vector<std::int64_t> numbers;
  if (value.is_array()) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, numbers));
  } else {
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, numbers.emplace_back()));
  }
  for (const std::int64_t table : numbers) {
    if (table < 0 || table > std::numeric_limits<std::uint32_t>::max())
      return value.error("there is no such table");
    tables.emplace_back(static_cast<std::size_t>(table));
  }
  node.is_leaf = false;
  return {};
}

// A split of the domain by one resource: load, hbm, ddr or ssd.
struct SplitEntry {
  std::int64_t rank_class = 0;
  embedding::UniformSplit split;
  int resources = 0;  // resources in the object; must be 1
};

void describe(JsonMembers& members, SplitEntry& entry) {
  members.required("class", entry.rank_class, "The class of ranks.");
  const auto use = [&](std::string_view key, std::optional<embedding::MemoryTier> tier) {
    const auto read = [&entry, tier](JsonValue v) {
      ++entry.resources;
      entry.split.tier = tier;
      return read_value(v, entry.split.at);
    };
    members.optional_with(key, read, json::number);
  };
  use("load", std::nullopt);
  for (const embedding::MemoryTier tier : embedding::kMemoryTiers)
    use(embedding::to_name(tier), tier);
}

Status read_uniform_split(JsonValue value, BoundNode& node) {
  SplitEntry entry;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, entry));
  if (entry.rank_class < 0 || entry.rank_class >= kMostRanks)
    return value.error("there is no such class");
  if (entry.resources != 1) return value.expected("one of load, hbm, ddr and ssd");
  node.uniform_split = entry.split;
  node.uniform_split->rank_class = static_cast<std::uint32_t>(entry.rank_class);
  node.is_leaf = false;
  return {};
}

Status read_count(JsonValue value, BoundNode& node) {
  std::int64_t count = 0;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, count));
  if (count < 1 || count > std::numeric_limits<std::uint32_t>::max())
    return value.error("must be positive, below 2^32");
  node.count = static_cast<std::uint32_t>(count);
  return {};
}

Status read_multipliers(JsonValue value, std::vector<embedding::CapacityMultipliers>& multipliers) {
  std::vector<std::vector<double>> rows;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<double>& row = rows[i];
    if (row.size() == 3) row.push_back(0);
    if (row.size() != 4) return value[i].expected("a list of 3 or 4 numbers");
    multipliers.push_back({row[0], row[1], row[2], row[3]});
  }
  return {};
}

Status read_fixing(JsonValue value, BoundNode& node) {
  if (!value.is_array()) return value.expected("a list of prices");
  for (std::size_t i = 0; i < value.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_multipliers(value[i], node.fixing.emplace_back()));
  return {};
}

Status read_shard_duals(JsonValue value, BoundNode& node) {
  std::vector<std::vector<double>> rows;
  SHARDWRIGHT_RETURN_IF_ERROR(read_rows(value, 3, rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint32_t option, index_of(value[i], rows[i][0]));
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint32_t run, index_of(value[i], rows[i][1]));
    node.shard_duals.push_back({OptionId(option), run, rows[i][2]});
  }
  return {};
}

JsonShape numbers_shape(double least, double most, std::string_view help) {
  return json::list(json::list(json::number()).from(least).up_to(most).says(help)).or_null();
}

JsonShape multipliers_shape() {
  return numbers_shape(3, 4, "[load, hbm, ddr], or [load, hbm, ddr, ssd], of a class of ranks.");
}

JsonShape shard_duals_shape() { return numbers_shape(3, 3, "[option, run, value]"); }

}  // namespace

static void describe(JsonMembers& members, BoundNode& node) {
  const auto multipliers = [](std::vector<embedding::CapacityMultipliers>& out) {
    return [&out](JsonValue v) { return read_multipliers(v, out); };
  };
  const auto shard_duals = [&](JsonValue v) { return read_shard_duals(v, node); };
  members
      .optional_with(
          "cut", [&](JsonValue v) { return read_tables(v, node, node.tables); },
          [] {
            return json::one_of({json::integer(), json::list(json::integer())})
                .says("The table whose options the node divides, or several equal tables.");
          })
      .optional_with(
          "uniform", [&](JsonValue v) { return read_uniform_split(v, node); },
          [] {
            return shape_of(SplitEntry())
                .says(
                    "Divides by what uniform options use of every rank of a class: at most this in "
                    "the first child, at least this in the second.");
          })
      .optional_with(
          "count", [&](JsonValue v) { return read_count(v, node); },
          [] {
            return json::integer().from(1).says(
                "In the first child, at least so many tables use an option of `parts`; 1 if "
                "absent.");
          })
      .optional_with(
          "parts", [&](JsonValue v) { return read_parts(v, node); },
          [] { return numbers_shape(2, 2, "[option, classes]"); })
      .optional_with("prices", multipliers(node.multipliers), multipliers_shape)
      .optional("by_search", node.by_search, "A leaf of which all plans were tried.")
      .optional_with(
          "fixing", [&](JsonValue v) { return read_fixing(v, node); },
          [] { return json::list(multipliers_shape()); })
      .optional_with("shard_duals", shard_duals, shard_duals_shape)
      .optional("max_pattern_values", node.max_pattern_values,
                "By class of ranks: the most that the shards on a rank are worth.")
      .optional_with("whole_prices", multipliers(node.whole_multipliers), multipliers_shape)
      .optional_with(
          "worths", shard_duals,
          [] { return shard_duals_shape().says("Name of `shard_duals` in earlier versions."); })
      .optional("most_worth", node.max_pattern_values,
                "Name of `max_pattern_values` in earlier versions.");
}

namespace {

Status read_classes(JsonValue value, std::vector<std::uint32_t>& class_of_rank) {
  std::vector<std::vector<std::int64_t>> runs;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, runs));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool valid = runs[i].size() == 2 && runs[i][0] >= 0 && runs[i][0] < kMostRanks &&
                       runs[i][1] > 0 && runs[i][1] <= kMostRanks &&
                       static_cast<std::int64_t>(class_of_rank.size()) + runs[i][1] <= kMostRanks;
    if (!valid) return value[i].expected("[class, number of ranks]");
    class_of_rank.insert(class_of_rank.end(), static_cast<std::size_t>(runs[i][1]),
                         static_cast<std::uint32_t>(runs[i][0]));
  }
  return {};
}

void write_load_factors(const std::vector<embedding::TableLoadFactors>& sets, JsonWriter& json) {
  if (sets.empty()) return;
  json.key("load_factors").begin_array();
  for (const embedding::TableLoadFactors& set : sets) {
    json.begin_array().value(set.table.value()).begin_array();
    for (const double value : set.values)
      json.value(value);
    json.end_array().end_array();
  }
  json.end_array();
}

// Reads a list of [table, load factors].
Status read_load_factors(JsonValue value, std::vector<embedding::TableLoadFactors>& sets) {
  if (!value.is_array()) return value.expected("a list of tables with their load factors");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_array() || value[i].size() != 2)
      return value[i].expected("[table, load factors]");
    std::int64_t table = 0;
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[i][0], table));
    if (table < 0 || table > std::numeric_limits<std::uint32_t>::max())
      return value[i].error("there is no such table");
    sets.push_back({TableId(static_cast<std::size_t>(table)), {}});
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[i][1], sets.back().values));
  }
  return {};
}

}  // namespace

void write_certificate(const BoundCertificate& certificate, JsonWriter& json) {
  json.begin_object().member("bound", certificate.bound);
  if (certificate.by_search) json.member("by_search", true);
  if (certificate.uniform_apart) json.member("uniform_apart", true);
  write_load_factors(certificate.load_factors, json);
  json.key("class_of_rank").begin_array();
  const std::vector<std::uint32_t>& classes = certificate.class_of_rank;
  for (std::size_t rank = 0; rank < classes.size();) {
    std::size_t end = rank;
    while (end < classes.size() && classes[end] == classes[rank])
      ++end;
    json.begin_array().value(classes[rank]).value(end - rank).end_array();
    rank = end;
  }
  json.end_array().key("nodes").begin_array();
  for (const BoundNode& node : certificate.nodes)
    write_node(node, json);
  json.new_line().end_array().end_object();
}

namespace {

Status read_nodes(JsonValue list, BoundCertificate& certificate) {
  if (!list.is_array()) return list.expected("a list of nodes");
  if (certificate.is_older_form) return {};
  for (std::size_t i = 0; i < list.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(list[i], certificate.nodes.emplace_back()));
  return {};
}

JsonShape load_factors_shape() {
  return json::list(json::tuple({json::integer(), json::list(json::number()).or_null()})
                        .says("[table, load factors]"));
}

}  // namespace

static void describe(JsonMembers& members, BoundCertificate& certificate) {
  constexpr std::string_view kOlder = "A form of earlier versions, which is not checked.";
  const auto bound = [&](JsonValue v) -> Status {
    certificate.bound = std::numeric_limits<double>::infinity();
    return v.is_null() ? Status() : read_value(v, certificate.bound);
  };
  members
      .required_with(
          "bound", bound,
          [] {
            return json::number().or_null().says("No plan rates below; null: no plan exists.");
          })
      .optional("by_search", certificate.by_search, "All plans below the bound were tried.")
      .optional("uniform_apart", certificate.uniform_apart,
                "Every class of ranks is two: for other options and for uniform options.")
      .optional("ranks_are_alike", certificate.is_older_form, kOlder)
      .optional("ranks_apart", certificate.is_older_form, kOlder)
      .optional_with(
          "load_factors",
          [&](JsonValue v) { return read_load_factors(v, certificate.load_factors); },
          load_factors_shape)
      .required_with(
          "class_of_rank", [&](JsonValue v) { return read_classes(v, certificate.class_of_rank); },
          [] {
            return json::list(json::list(json::integer()).from(2).up_to(2).says("[class, ranks]"))
                .or_null();
          })
      .required_with(
          "nodes", [&](JsonValue v) { return read_nodes(v, certificate); },
          [] { return json::list(shape_of(BoundNode())); });
}

Result<BoundCertificate> read_certificate(JsonValue value) {
  BoundCertificate certificate;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, certificate));
  return certificate;
}

JsonShape certificate_shape() {
  return shape_of(BoundCertificate()).says("A proof of the lower bound; see core/embedding/bound.");
}

}  // namespace shardwright
