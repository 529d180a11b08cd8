#include "runtime/io/embedding/search_space/search_space_json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/io/embedding/search_space/search_space_builder.h"
#include "runtime/io/json/json_reader.h"
#include "runtime/io/kinds/document_kind.h"

namespace shardwright {
namespace {

using embedding::Perf;
using embedding::Problem;
using embedding::SearchSpace;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::TableId;
using embedding::to_name;

Status read_pair(JsonValue value, std::int64_t& rows, std::int64_t& columns) {
  if (!value.is_array() || value.size() != 2) return value.expected("a list [rows, columns]");
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[0], rows));
  return read_value(value[1], columns);
}

Status read_bytes(JsonValue value, Bytes& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t bytes, value.integer());
  if (bytes < 0) return value.expected("a number of bytes, 0 or above");
  out = Bytes(bytes);
  return {};
}

Status read_perf(JsonValue value, Perf& perf) {
  if (!value.is_array() || value.size() != 5) {
    return value.expected(
        "a list [fwd_compute, fwd_comms, bwd_compute, bwd_comms, "
        "prefetch_compute] of milliseconds");
  }
  Milliseconds* const parts[] = {&perf.fwd_compute, &perf.fwd_comms, &perf.bwd_compute,
                                 &perf.bwd_comms, &perf.prefetch_compute};
  for (std::size_t i = 0; i < 5; ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const double time, value[i].number());
    if (!(time >= 0)) return value[i].expected("a time, 0 or above");
    *parts[i] = Milliseconds(time + 0.0);  // -0.0 becomes 0.0
  }
  return {};
}

// Sets the step of a run that gives none: shards are adjacent along the dimension that is split.
void default_step(ShardingType type, ShardExtent& extent) {
  const bool by_row = type == ShardingType::kRowWise || type == ShardingType::kTableRowWise ||
                      type == ShardingType::kGridShard;
  if (by_row) extent.row_step = extent.rows;
  if (!by_row && type != ShardingType::kDataParallel) extent.column_step = extent.columns;
}

Status read_shard(JsonValue value, ShardingType type, ShardExtent& extent, ShardCost& cost) {
  std::int64_t count = 1;
  bool has_step = false;
  ObjectReader reader(value);
  reader
      .required_with("size", [&](JsonValue v) { return read_pair(v, extent.rows, extent.columns); })
      .required_with(
          "offset",
          [&](JsonValue v) { return read_pair(v, extent.row_offset, extent.column_offset); })
      .required_with("hbm", [&](JsonValue v) { return read_bytes(v, cost.storage.hbm); })
      .required_with("ddr", [&](JsonValue v) { return read_bytes(v, cost.storage.ddr); })
      .required_with("perf", [&](JsonValue v) { return read_perf(v, cost.perf); });
  constexpr std::size_t kRequired = 5;  // most shards have no more
  if (value.size() > kRequired) {
    reader.optional_with("ssd", [&](JsonValue v) { return read_bytes(v, cost.storage.ssd); })
        .ignore({"input_dist_comms"})
        .optional("count", count)
        .optional_with("step", [&](JsonValue v) {
          has_step = true;
          return read_pair(v, extent.row_step, extent.column_step);
        });
  }
  SHARDWRIGHT_RETURN_IF_ERROR(reader.finish());
  if (count < 1 || count > SearchSpaceBuilder::kMaxShards) {
    return value.error("count must be between 1 and 2^24");
  }
  extent.count = static_cast<std::uint32_t>(count);
  if (!has_step && count > 1) default_step(type, extent);
  if (count == 1) extent.row_step = extent.column_step = 0;
  return {};
}

// Adds the place to an error of the builder.
Status at(JsonValue value, const Status& status) {
  return status.ok() ? status : value.error(status.error().message);
}

class Reader {
 public:
  explicit Reader(std::shared_ptr<const Problem> problem)
      : problem_(std::move(problem)), builder_(problem_) {
    for (std::size_t i = 0; i < problem_->tables().size(); ++i) {
      by_name_[problem_->tables()[i].name].emplace_back(i);
    }
  }

  Result<std::shared_ptr<const SearchSpace>> read(JsonValue list) {
    if (!list.is_array()) return list.expected("a list of options");
    builder_.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      SHARDWRIGHT_RETURN_IF_ERROR(read_option(list[i]));
    }
    auto space = builder_.finish();
    if (!space.ok()) return list.error(space.error().message);
    return space;
  }

 private:
  Status read_option(JsonValue value) {
    ShardingOption read;
    std::string table, module;
    std::optional<embedding::PartitionBy> partition_by;
    std::optional<std::int64_t> num_shards, batch_size;
    std::optional<JsonValue> shards;
    std::optional<bool> is_pooled, is_weighted;
    SHARDWRIGHT_RETURN_IF_ERROR(ObjectReader(value)
                                    .required("table", table)
                                    .optional("module", module)
                                    .required("sharding_type", read.sharding_type)
                                    .required("compute_kernel", read.compute_kernel)
                                    .optional("partition_by", partition_by)
                                    .optional("batch_size", batch_size)
                                    .optional("is_pooled", is_pooled)
                                    .optional("is_weighted", is_weighted)
                                    .optional("load_factor", read.load_factor)
                                    .optional("num_shards", num_shards)
                                    .required_with("shards",
                                                   [&](JsonValue v) {
                                                     shards = v;
                                                     return Status();
                                                   })
                                    .ignore({"note"})
                                    .finish());
    SHARDWRIGHT_ASSIGN_OR_RETURN(const TableId id, find_table(value, table, module));
    SHARDWRIGHT_RETURN_IF_ERROR(
        at(value, builder_.begin_option(id.value(), read.sharding_type, read.compute_kernel)));
    ShardingOption& option = builder_.option();
    option.load_factor = read.load_factor;
    if (batch_size && *batch_size != option.batch_size) {
      return value.error("the costs are those of " + std::to_string(*batch_size) +
                         " samples per rank, and the problem has " +
                         std::to_string(option.batch_size) + "; give {batch_size} " +
                         std::to_string(*batch_size) + ", or enumerate again");
    }
    option.is_pooled = is_pooled.value_or(option.is_pooled);
    option.is_weighted = is_weighted.value_or(option.is_weighted);
    if (partition_by && *partition_by != option.partition_by()) {
      return value.error(std::string(to_name(option.sharding_type)) + " is partitioned by " +
                         std::string(to_name(option.partition_by())) + ", not by " +
                         std::string(to_name(*partition_by)));
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint64_t found,
                                 read_shards(*shards, option.sharding_type));
    if (num_shards && static_cast<std::uint64_t>(*num_shards) != found) {
      return value.error("num_shards is " + std::to_string(*num_shards) + ", but there are " +
                         std::to_string(found) + " shards");
    }
    return at(*shards, builder_.end_option());
  }

  Result<TableId> find_table(JsonValue value, const std::string& name, const std::string& module) {
    const auto named = by_name_.find(name);
    if (named == by_name_.end()) return value.error("the problem has no table \"" + name + "\"");
    if (module.empty() && named->second.size() == 1) return named->second.front();
    if (module.empty()) {
      return value.error("several modules have a table \"" + name + "\"; give `module`");
    }
    for (const TableId id : named->second) {
      if (problem_->table(id).module == module) return id;
    }
    return value.error("module \"" + module + "\" of the problem has no table \"" + name + "\"");
  }

  // Adds the shards to the current option. Returns their number.
  Result<std::uint64_t> read_shards(JsonValue list, ShardingType type) {
    if (!list.is_array() || list.size() == 0) return list.expected("a list of shards");
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      ShardExtent extent;
      ShardCost cost;
      SHARDWRIGHT_RETURN_IF_ERROR(read_shard(list[i], type, extent, cost));
      SHARDWRIGHT_RETURN_IF_ERROR(at(list[i], builder_.add_shards(extent, cost)));
      found += extent.count;
    }
    return found;
  }

  std::shared_ptr<const Problem> problem_;
  SearchSpaceBuilder builder_;
  std::unordered_map<std::string, std::vector<TableId>> by_name_;
};

// Releases count costs in their own ways.
void doubt_release(JsonValue root, const Problem& problem, std::vector<Error>& doubts) {
  const std::optional<JsonValue> value = root.find("torchrec");
  if (!value || !value->is_string()) return;
  const auto release = embedding::from_name<embedding::TorchRecRelease>(*value->string());
  if (!release || *release == problem.spec().torchrec) return;
  const std::string made_for(to_name(*release)), own(to_name(problem.spec().torchrec));
  doubts.push_back(value->error("the costs are those of TorchRec " + made_for +
                                ", and the problem has " + own + "; give {torchrec} " + made_for +
                                ", or enumerate again"));
}

}  // namespace

Result<std::shared_ptr<const SearchSpace>> read_search_space(std::string_view text,
                                                             std::shared_ptr<const Problem> problem,
                                                             std::vector<Error>* doubts) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kSearchSpace));
  const std::optional<JsonValue> list = document.root().find("search_space");
  if (!list)
    return invalid_input(
        "", "the file has no key \"search_space\"; `shardwright enumerate` writes such a file");
  if (doubts != nullptr) doubt_release(document.root(), *problem, *doubts);
  return Reader(std::move(problem)).read(*list);
}

}  // namespace shardwright
