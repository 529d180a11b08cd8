#include "runtime/io/embedding/table_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/nearest_name.h"
#include "runtime/io/json/json_members.h"

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

}  // namespace

void describe(JsonMembers& members, TablePlacement& placement) {
  members.optional("ranks", placement.ranks, "Ranks that may hold shards of the table.")
      .optional("hosts", placement.hosts, "Hosts that may hold shards of the table.")
      .optional_with(
          "shard_ranks", [&](JsonValue v) { return read_shard_ranks(v, placement.shard_ranks); },
          [&] {
            return json::by_name(json::list(json::integer()))
                .or_null()
                .says("Ranks by number of the shard.");
          })
      .optional("max_shards", placement.max_shards, "Most shards of the table.")
      .optional("distinct_ranks", placement.distinct_ranks,
                "Whether all shards of the table are on different ranks.");
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

void describe_table_groups(JsonMembers& members, std::string_view key,
                           const std::vector<Table>& tables, GroupScope bare,
                           std::vector<TableGroup>& groups, std::string_view help) {
  const auto read = [&](JsonValue list) -> Status {
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
        SHARDWRIGHT_RETURN_IF_ERROR(JsonMembers(list[i])
                                        .required_with("tables", names)
                                        .word("on", group.on, "scope", kScopes, "", true)
                                        .ignore({"note"})
                                        .finish());
      } else {
        return list[i].expected("an object with `tables` and `on`, or a list of table names");
      }
    }
    return {};
  };
  const auto shape = [&] {
    const JsonShape names = json::list(json::text()).from(1).says("Names of tables.");
    return json::list(json::one_of({names, json::object({{"tables", names, true},
                                                         {"on", json::one_word(kScopes), true},
                                                         {"note", json::not_read()}})}))
        .or_null()
        .says(help);
  };
  members.optional_with(key, read, shape);
}

Error no_such_table(JsonValue value, std::string_view name, const std::vector<Table>& tables) {
  std::vector<std::string_view> names;
  names.reserve(tables.size());
  for (const Table& table : tables)
    names.emplace_back(table.name);
  return value.error("no table is named \"" + std::string(name) + "\"" + suggestion(name, names));
}

namespace {

using embedding::CacheParams;
using embedding::Optimizer;
using embedding::ParameterConstraints;
using embedding::Table;
using embedding::TablePlacement;

// The optimizers of TorchRec and PyTorch. The storage model does not distinguish those of kind
// kOther. Source: torchrec/optim/__init__.py, torch/optim/__init__.py.
struct NamedOptimizer {
  std::string_view name;
  Optimizer optimizer;
};
constexpr std::array kOptimizers{
    NamedOptimizer{"", Optimizer::kUnset},
    NamedOptimizer{"SGD", Optimizer::kSgd},
    NamedOptimizer{"Adam", Optimizer::kAdam},
    NamedOptimizer{"Adagrad", Optimizer::kAdagrad},
    NamedOptimizer{"RowWiseAdagrad", Optimizer::kRowWiseAdagrad},
    NamedOptimizer{"LAMB", Optimizer::kOther},
    NamedOptimizer{"LarsSGD", Optimizer::kOther},
    NamedOptimizer{"PartialRowWiseAdam", Optimizer::kOther},
    NamedOptimizer{"PartialRowWiseLAMB", Optimizer::kOther},
    NamedOptimizer{"AdamW", Optimizer::kOther},
    NamedOptimizer{"Adadelta", Optimizer::kOther},
    NamedOptimizer{"Adamax", Optimizer::kOther},
    NamedOptimizer{"ASGD", Optimizer::kOther},
    NamedOptimizer{"NAdam", Optimizer::kOther},
    NamedOptimizer{"RAdam", Optimizer::kOther},
    NamedOptimizer{"RMSprop", Optimizer::kOther},
    NamedOptimizer{"Rprop", Optimizer::kOther},
    NamedOptimizer{"other", Optimizer::kOther},
};

constexpr auto kOptimizerNames = names_in(kOptimizers);

Status read_optimizer(JsonValue value, Optimizer& out) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index,
                               read_choice(value, "optimizer", kOptimizerNames));
  out = kOptimizers[index].optimizer;
  return {};
}

// Checked here: Problem::make would locate it in constraints, which the file may lack.
Status read_pooling_factor(JsonValue value, std::optional<double>& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, out));
  if (out && !(*out >= 0 && *out <= embedding::kMaxPoolingFactor))
    return value.error("must be between 0 and 1e12");
  return {};
}

// Describes a list of distinct names. An empty list is an error: the member must be left out.
template <class T>
void describe_names(JsonMembers& members, std::string_view key, std::vector<T>& names,
                    std::string_view help) {
  const auto read = [&](JsonValue value) -> Status {
    if (value.is_array() && value.size() == 0)
      return value.error("the list is empty; leave it out");
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, names));
    for (std::size_t i = 1; i < names.size(); ++i) {
      const auto end = names.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(names.begin(), end, names[i]) == end) continue;
      return value[i].error("\"" + std::string(*value[i].string()) + "\" is named twice");
    }
    return {};
  };
  members.optional_with(key, read, [&] { return shape_of(names).from(1).each_once().says(help); });
}

JsonShape pooling_shape() { return json::number().from(0).or_null(); }

// Reads features: each is a name, or an object with a name and a pooling factor.
Status read_features(JsonValue list, Table& table,
                     std::vector<std::optional<double>>& pooling_factors) {
  if (list.is_null()) return {};
  if (!list.is_array()) return not_a_list(list, "a list of features");
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string name;
    std::optional<double> pooling_factor;
    if (list[i].is_object()) {
      SHARDWRIGHT_RETURN_IF_ERROR(
          JsonMembers(list[i])
              .required("name", name)
              .optional_with(
                  "pooling_factor",
                  [&](JsonValue factor) { return read_pooling_factor(factor, pooling_factor); })
              .finish());
    } else if (list[i].is_string()) {
      SHARDWRIGHT_RETURN_IF_ERROR(read_value(list[i], name));
    } else {
      return list[i].expected("the name of a feature or an object with its name");
    }
    table.features.push_back(std::move(name));
    pooling_factors.push_back(pooling_factor);
  }
  if (table.features.size() < 2) return {};
  std::vector<std::string_view> names(table.features.begin(), table.features.end());
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return list.error("the feature \"" + std::string(*twice) + "\" is named twice");
}

// Sets one pooling factor per feature. If a feature has its own factor, features without one get 1.
// Otherwise the features share the table's total equally.
void apply_pooling(const std::optional<double>& total,
                   const std::vector<std::optional<double>>& by_feature, Table& table) {
  const bool own = std::any_of(by_feature.begin(), by_feature.end(),
                               [](const auto& factor) { return factor.has_value(); });
  if (!own && !total) return;
  ParameterConstraints& constraints = table.constraints.emplace();
  constraints.pooling_factors.clear();
  for (const auto& factor : by_feature) {
    constraints.pooling_factors.push_back(own ? factor.value_or(1.0)
                                              : *total / static_cast<double>(by_feature.size()));
  }
  if (by_feature.empty()) constraints.pooling_factors.push_back(*total);
}

// Pooling members of a table, kept until all features are read.
struct PoolingOfTable {
  std::optional<double> total;
  std::vector<std::optional<double>> by_feature;
};

void describe_table(JsonMembers& members, Table& table, PoolingOfTable& pooling) {
  members.required("name", table.name, "Name of the table.")
      .required("num_embeddings", table.num_embeddings, "Rows.")
      .required("embedding_dim", table.embedding_dim, "Columns.")
      .optional_with(
          "features",
          [&](JsonValue list) { return read_features(list, table, pooling.by_feature); },
          [&] {
            return json::list(json::one_of({json::text(),
                                            json::object({{"name", json::text(), true},
                                                          {"pooling_factor", pooling_shape()}})}))
                .or_null()
                .says("Features that look the table up; its name if left out.");
          })
      .optional("kind", table.kind)
      .optional("weighted", table.weighted, "Whether inputs have weights.")
      .optional("feature_processed", table.feature_processed,
                "Whether the table is in a FeatureProcessedEmbeddingBagCollection.")
      .optional("tower", table.tower, "Whether the table is in an EmbeddingTower.")
      .optional("data_type", table.data_type)
      .optional("pooling", table.pooling)
      .optional("module", table.module,
                "Module of the table: ebc, ebc_w, ec, fp_ebc or tower unless given.")
      .optional_with(
          "optimizer", [&](JsonValue name) { return read_optimizer(name, table.optimizer); },
          [&] {
            return json::one_word(kOptimizerNames)
                .or_null()
                .says("Decides how much memory the optimizer's state takes; none unless given.");
          })
      .optional("dependency", table.dependency, "Tower of the table.")
      .optional("use_virtual_table", table.use_virtual_table)
      .optional("total_num_buckets", table.total_num_buckets)
      .optional("zipf", table.zipf, "Skew of lookups; the problem's if left out.")
      .optional_with(
          "pooling_factor",
          [&](JsonValue factor) { return read_pooling_factor(factor, pooling.total); },
          [&] { return pooling_shape().says("Values per sample, over all features."); })
      .ignore({"note", "group"});
}

Status read_table(JsonValue value, Table& table) {
  PoolingOfTable pooling;
  JsonMembers members(value);
  describe_table(members, table, pooling);
  SHARDWRIGHT_RETURN_IF_ERROR(members.finish());
  apply_pooling(pooling.total, pooling.by_feature, table);
  if (table.features.empty()) table.features.push_back(table.name);
  return {};
}

}  // namespace

}  // namespace shardwright

namespace shardwright::embedding {

static void describe(JsonMembers& members, CacheStatistics& stats) {
  members.required("cacheability", stats.cacheability)
      .required("expected_lookups", stats.expected_lookups)
      .required("mrc_hist_counts", stats.mrc_hist_counts)
      .required("height", stats.height);
}

// Reads a list, or "ladder", which stands for the default list.
static Status read_load_factors(JsonValue value, std::optional<std::vector<double>>& out) {
  if (value.is_null()) return {};
  if (value.is_string() && *value.string() == "ladder") {
    out.emplace();
    return {};
  }
  if (!value.is_array() || value.size() == 0)
    return value.expected("a list of load factors, or \"ladder\"");
  return read_value(value, out.emplace());
}

static void describe(JsonMembers& members, CacheParams& cache) {
  members.optional("algorithm", cache.algorithm)
      .optional("load_factor", cache.load_factor, "Part of the rows that is in the cache.")
      .optional_with(
          "load_factors", [&](JsonValue v) { return read_load_factors(v, cache.load_factors); },
          [&] {
            return json::one_of({json::one_word({"ladder"}), json::list(json::number()).from(1)})
                .or_null()
                .says("Load factors among which the planner chooses.");
          })
      .optional("reserved_memory", cache.reserved_memory)
      .optional("precision", cache.precision)
      .optional("prefetch_pipeline", cache.prefetch_pipeline)
      .optional("stats", cache.stats)
      .object("multipass_prefetch_config", [&](JsonMembers& inner) {
        inner.required("num_passes", cache.prefetch_passes).ignore({"min_splitable_pass_size"});
      });
}

// Only two sizes matter to the planner; TorchRec's other members are ignored.
static void describe(JsonMembers& members, KeyValueParams& params) {
  members.optional("max_l1_cache_size", params.max_l1_cache_size_mib, "MiB.")
      .optional("l2_cache_size", params.l2_cache_size_gib, "GiB.")
      .ignore({"ssd_storage_directory", "ssd_rocksdb_write_buffer_size", "ssd_rocksdb_shards",
               "gather_ssd_cache_stats", "stats_reporter_config", "use_passed_in_path",
               "enable_async_update", "bulk_init_chunk_size", "lazy_bulk_init_enabled",
               "enable_raw_embedding_streaming", "res_store_shards", "kvzch_tbe_config",
               "load_ckpt_without_opt", "ps_hosts", "ps_client_thread_num",
               "ps_max_key_per_request", "ps_max_local_index_length"});
}

}  // namespace shardwright::embedding

namespace shardwright {
namespace {

Status read_min_partition(JsonValue value, std::optional<std::int64_t>& columns) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, columns));
  if (columns == 0) return value.error("must be at least 1 column; leave it out for the default");
  return {};
}

void describe_constraint(JsonMembers& members, ParameterConstraints& c, TablePlacement& placement) {
  describe(members, placement);
  describe_names(members, "sharding_types", c.sharding_types, "All that are allowed.");
  describe_names(members, "compute_kernels", c.compute_kernels, "All that are allowed.");
  members
      .optional_with(
          "min_partition", [&](JsonValue v) { return read_min_partition(v, c.min_partition); },
          [&] { return json::integer().or_null().says("Least columns of a shard."); })
      .optional("pooling_factors", c.pooling_factors, "Values per sample, one per feature.")
      .filled("num_poolings", c.num_poolings, "One per feature.")
      .filled("batch_sizes", c.batch_sizes, "Samples per rank and step, one per feature.")
      .optional("is_weighted", c.is_weighted)
      .optional("cache_params", c.cache_params)
      .optional("enforce_hbm", c.enforce_hbm)
      .optional("stochastic_rounding", c.stochastic_rounding)
      .optional("bounds_check_mode", c.bounds_check_mode)
      .filled("feature_names", c.feature_names)
      .optional("output_dtype", c.output_dtype)
      .optional("device_group", c.device_group)
      .optional("key_value_params", c.key_value_params)
      .optional("use_virtual_table", c.use_virtual_table)
      .ignore({"note"});
}

// Pooling factors of the constraints take precedence over those of the table.
Status read_constraint(JsonValue value, const std::optional<ParameterConstraints>& from_table,
                       ParameterConstraints& c, TablePlacement& placement) {
  if (from_table) c.pooling_factors = from_table->pooling_factors;
  JsonMembers members(value);
  describe_constraint(members, c, placement);
  return members.finish();
}

}  // namespace

void describe_tables(JsonMembers& members, std::vector<Table>& tables) {
  const auto read = [&](JsonValue list) -> Status {
    if (!list.is_array()) return list.expected("a list of tables");
    if (list.size() == 0) return list.error("the list of tables is empty");
    tables.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i)
      SHARDWRIGHT_RETURN_IF_ERROR(read_table(list[i], tables[i]));
    return {};
  };
  const auto shape = [] {
    JsonShape table = shape_by([](JsonMembers& inner) {
      Table sample;
      PoolingOfTable pooling;
      describe_table(inner, sample, pooling);
    });
    return json::list(std::move(table)).from(1).says("The embedding tables.");
  };
  members.required_with("tables", read, shape);
}

namespace {

Status read_constraints(JsonValue object, std::vector<Table>& tables) {
  if (object.is_null()) return {};
  if (!object.is_object()) return object.expected("an object with one entry per table");
  std::unordered_map<std::string_view, std::vector<Table*>> by_name;
  for (Table& table : tables)
    by_name[table.name].push_back(&table);
  for (std::size_t i = 0; i < object.size(); ++i) {
    const auto named = by_name.find(object[i].key());
    if (named == by_name.end()) {
      return no_such_table(object[i], object[i].key(), tables);
    }
    for (Table* table : named->second) {
      ParameterConstraints constraints;
      SHARDWRIGHT_RETURN_IF_ERROR(
          read_constraint(object[i], table->constraints, constraints, table->placement));
      // Placement alone must not create TorchRec's constraints, since these would change the costs.
      if (!is_placement_alone(object[i])) table->constraints = std::move(constraints);
    }
  }
  return {};
}

}  // namespace

void describe_constraints(JsonMembers& members, std::vector<Table>& tables) {
  const auto shape = [] {
    JsonShape constraint = shape_by([](JsonMembers& inner) {
      ParameterConstraints sample;
      TablePlacement placement;
      describe_constraint(inner, sample, placement);
    });
    return json::by_name(std::move(constraint)).or_null().says("Constraints by name of the table.");
  };
  members.optional_with(
      "constraints", [&](JsonValue v) { return read_constraints(v, tables); }, shape);
}

}  // namespace shardwright
