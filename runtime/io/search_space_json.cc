#include "runtime/io/search_space_json.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/io/json_reader.h"
#include "runtime/io/shard_runs.h"

namespace shardwright {
namespace {

using embedding::Perf;
using embedding::Problem;
using embedding::SearchSpace;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::Storage;
using embedding::Table;
using embedding::TableId;
using embedding::to_name;

// Sums of bytes must stay within int64, whatever a plan puts together.
constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 62;
constexpr std::uint32_t kMaxShards = std::uint32_t{1} << 24;

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

// Where the shards of a run that gives no step are: side by side in the direction of the cut.
void default_step(ShardingType type, ShardExtent& extent) {
  const bool by_row = type == ShardingType::kRowWise || type == ShardingType::kTableRowWise ||
                      type == ShardingType::kGridShard;
  if (by_row) extent.row_step = extent.rows;
  if (!by_row && type != ShardingType::kDataParallel) extent.column_step = extent.columns;
}

Status read_shard(JsonValue value, ShardingType type, ShardExtent& extent, ShardCost& cost) {
  std::int64_t count = 1;
  bool has_step = false;
  SHARDWRIGHT_RETURN_IF_ERROR(
      ObjectReader(value)
          .required_with("size",
                         [&](JsonValue v) { return read_pair(v, extent.rows, extent.columns); })
          .required_with(
              "offset",
              [&](JsonValue v) { return read_pair(v, extent.row_offset, extent.column_offset); })
          .required_with("hbm", [&](JsonValue v) { return read_bytes(v, cost.storage.hbm); })
          .required_with("ddr", [&](JsonValue v) { return read_bytes(v, cost.storage.ddr); })
          .required_with("perf", [&](JsonValue v) { return read_perf(v, cost.perf); })
          .optional("count", count)
          .optional_with("step",
                         [&](JsonValue v) {
                           has_step = true;
                           return read_pair(v, extent.row_step, extent.column_step);
                         })
          .finish());
  if (count < 1 || count > kMaxShards) return value.error("count must be between 1 and 2^24");
  extent.count = static_cast<std::uint32_t>(count);
  if (!has_step && count > 1) default_step(type, extent);
  if (count == 1) extent.row_step = extent.column_step = 0;
  return {};
}

// Offsets along one dimension of a whole run lie within the table.
bool within(std::int64_t offset, std::int64_t step, std::uint32_t count, std::int64_t size,
            std::int64_t limit) {
  if (size < 0 || size > limit || offset < 0 || offset > limit) return false;
  if (step < -limit || step > limit) return false;
  const std::int64_t steps = count - std::int64_t{1};
  if (steps > 0 && step != 0 && std::abs(step) > limit / steps) return false;
  const std::int64_t last = offset + step * steps;
  return last >= 0 && last + size <= limit;
}

// Quantised rows are packed with their scale and padded, so they are wider than the table.
std::int64_t max_columns(const Problem& problem, const Table& table) {
  const bool packed = problem.spec().sharder.type == embedding::SharderSpec::Type::kQuant;
  return packed ? 8 * (table.embedding_dim + 32) : table.embedding_dim;
}

class Reader {
 public:
  explicit Reader(std::shared_ptr<const Problem> problem)
      : problem_(std::move(problem)),
        layouts_(std::make_shared<embedding::ShardLayoutInterner>()),
        max_option_bytes_(kMaxTotalBytes / static_cast<std::int64_t>(problem_->tables().size())) {
    for (std::size_t i = 0; i < problem_->tables().size(); ++i) {
      const Table& table = problem_->tables()[i];
      by_name_[table.name].emplace_back(i);
    }
  }

  Result<std::shared_ptr<const SearchSpace>> read(JsonValue list) {
    if (!list.is_array()) return list.expected("a list of options");
    std::vector<ShardingOption> options;
    options.reserve(list.size());
    std::vector<bool> has_option(problem_->tables().size(), false);
    for (std::size_t i = 0; i < list.size(); ++i) {
      ShardingOption option;
      SHARDWRIGHT_RETURN_IF_ERROR(read_option(list[i], option));
      has_option[option.table.index()] = true;
      options.push_back(std::move(option));
    }
    for (std::size_t i = 0; i < has_option.size(); ++i) {
      if (!has_option[i]) {
        return list.error("has no option for table \"" + problem_->tables()[i].name +
                          "\" of module \"" + problem_->tables()[i].module + "\"");
      }
    }
    return SearchSpace::make(problem_, layouts_, std::move(options));
  }

 private:
  Status read_option(JsonValue value, ShardingOption& option) {
    std::string table, module;
    std::optional<embedding::PartitionBy> partition_by;
    std::optional<std::int64_t> num_shards;
    std::optional<JsonValue> shards;
    option.batch_size = problem_->batch_size();
    std::optional<bool> is_pooled, is_weighted;
    SHARDWRIGHT_RETURN_IF_ERROR(ObjectReader(value)
                                    .required("table", table)
                                    .optional("module", module)
                                    .required("sharding_type", option.sharding_type)
                                    .required("compute_kernel", option.compute_kernel)
                                    .optional("partition_by", partition_by)
                                    .optional("batch_size", option.batch_size)
                                    .optional("is_pooled", is_pooled)
                                    .optional("is_weighted", is_weighted)
                                    .optional("load_factor", option.load_factor)
                                    .optional("num_shards", num_shards)
                                    .required_with("shards",
                                                   [&](JsonValue v) {
                                                     shards = v;
                                                     return Status();
                                                   })
                                    .ignore({"note"})
                                    .finish());
    SHARDWRIGHT_ASSIGN_OR_RETURN(option.table, find_table(value, table, module));
    const Table& of = problem_->table(option.table);
    option.is_pooled = is_pooled.value_or(of.kind == embedding::TableKind::kPooled);
    option.is_weighted = is_weighted.value_or(of.weighted);
    if (partition_by && *partition_by != option.partition_by()) {
      return value.error(std::string(to_name(option.sharding_type)) + " is partitioned by " +
                         std::string(to_name(option.partition_by())) + ", not by " +
                         std::string(to_name(*partition_by)));
    }
    SHARDWRIGHT_RETURN_IF_ERROR(read_shards(*shards, of, option));
    if (num_shards && *num_shards != option.num_shards()) {
      return value.error("num_shards is " + std::to_string(*num_shards) + ", but there are " +
                         std::to_string(option.num_shards()) + " shards");
    }
    return check_num_shards(*shards, option);
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

  Status read_shards(JsonValue list, const Table& table, ShardingOption& option) {
    if (!list.is_array() || list.size() == 0) return list.expected("a list of shards");
    ShardRuns runs;
    Storage left{Bytes(max_option_bytes_), Bytes(max_option_bytes_)};
    for (std::size_t i = 0; i < list.size(); ++i) {
      ShardExtent extent;
      ShardCost cost;
      SHARDWRIGHT_RETURN_IF_ERROR(read_shard(list[i], option.sharding_type, extent, cost));
      if (!within(extent.row_offset, extent.row_step, extent.count, extent.rows,
                  table.num_embeddings) ||
          !within(extent.column_offset, extent.column_step, extent.count, extent.columns,
                  max_columns(*problem_, table))) {
        return list[i].error("the shard is not within table \"" + table.name + "\" of " +
                             std::to_string(table.num_embeddings) + " x " +
                             std::to_string(table.embedding_dim));
      }
      if (cost.storage.hbm.value() > left.hbm.value() / extent.count ||
          cost.storage.ddr.value() > left.ddr.value() / extent.count) {
        return list[i].error("the bytes of the shards exceed what can be added up");
      }
      left -= Storage{Bytes(cost.storage.hbm.value() * extent.count),
                      Bytes(cost.storage.ddr.value() * extent.count)};
      if (runs.layout.num_shards > kMaxShards - extent.count) {
        return list.error("more than 2^24 shards");
      }
      runs.append(extent, cost);
    }
    option.layout = layouts_->intern(std::move(runs.layout));
    option.costs = std::move(runs.costs);
    return {};
  }

  // What the partitioners rely on. Source: GreedyPerfPartitioner._uniform_partition,
  // torchrec/distributed/planner/partitioners.py.
  Status check_num_shards(JsonValue shards, const ShardingOption& option) {
    const embedding::Topology& topology = problem_->topology();
    const std::uint32_t local = topology.local_world_size();
    const std::uint32_t count = option.num_shards();
    const std::string of = "a " + std::string(to_name(option.sharding_type)) + " option must have ";
    const std::string found = ", has " + std::to_string(count);
    if (option.partition_by() == embedding::PartitionBy::kUniform &&
        count != topology.world_size()) {
      return shards.error(of + "one shard per rank (" + std::to_string(topology.world_size()) +
                          ")" + found);
    }
    if (option.sharding_type == ShardingType::kTableRowWise && count != local) {
      return shards.error(of + "one shard per rank of a host (" + std::to_string(local) + ")" +
                          found);
    }
    if (option.sharding_type == ShardingType::kGridShard && count % local != 0) {
      return shards.error(of + "a multiple of the ranks of a host (" + std::to_string(local) +
                          ") of shards" + found);
    }
    return {};
  }

  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<embedding::ShardLayoutInterner> layouts_;
  std::int64_t max_option_bytes_;
  std::unordered_map<std::string, std::vector<TableId>> by_name_;
};

}  // namespace

Result<std::shared_ptr<const SearchSpace>> read_search_space(
    std::string_view text, std::shared_ptr<const Problem> problem) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const std::optional<JsonValue> list = document.root().find("search_space");
  if (!list) return invalid_input("", "the file has no key \"search_space\"");
  return Reader(std::move(problem)).read(*list);
}

}  // namespace shardwright
