#include "runtime/io/embedding/search_space_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/sharding_option.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/kinds/document_kind.h"
#include "search/embedding/compat/perf_estimator.h"

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
    *parts[i] = Milliseconds(time + 0.0);  // turns -0.0 into 0.0
  }
  return {};
}

// Sets the step of a run without a step: shards are adjacent along the split dimension.
void default_step(ShardingType type, ShardExtent& extent) {
  const bool by_row = type == ShardingType::kRowWise || type == ShardingType::kTableRowWise ||
                      type == ShardingType::kGridShard;
  if (by_row) extent.row_step = extent.rows;
  if (!by_row && type != ShardingType::kDataParallel) extent.column_step = extent.columns;
}

JsonShape pair_shape(std::string_view help) {
  return json::list(json::integer()).from(2).up_to(2).says(help);
}

JsonShape bytes_shape() { return json::natural().says("Bytes."); }

// A shard, or a run of `count` equal shards.
struct ShardEntry {
  ShardExtent extent;
  ShardCost cost;
  std::int64_t count = 1;
  bool has_step = false;
};

constexpr std::size_t kRequiredOfShard = 5;  // most shards have only these

// The optional members are looked up only if `has_more` is true.
void describe(JsonMembers& members, ShardEntry& shard, bool has_more) {
  ShardExtent& extent = shard.extent;
  embedding::Storage& storage = shard.cost.storage;
  const auto bytes = [](Bytes& out) { return [&out](JsonValue v) { return read_bytes(v, out); }; };
  members
      .required_with(
          "size", [&](JsonValue v) { return read_pair(v, extent.rows, extent.columns); },
          [] { return pair_shape("[rows, columns]"); })
      .required_with(
          "offset",
          [&](JsonValue v) { return read_pair(v, extent.row_offset, extent.column_offset); },
          [] { return pair_shape("[row, column]"); })
      .required_with("hbm", bytes(storage.hbm), bytes_shape)
      .required_with("ddr", bytes(storage.ddr), bytes_shape)
      .required_with(
          "perf", [&](JsonValue v) { return read_perf(v, shard.cost.perf); }, perf_shape);
  if (!has_more) return;
  members.optional_with("ssd", bytes(storage.ssd), bytes_shape)
      .ignore({"input_dist_comms"})
      .optional("count", shard.count, "Equal shards that this entry stands for.")
      .from(1)
      .up_to(SearchSpaceBuilder::kMaxShards)
      .optional_with(
          "step",
          [&](JsonValue v) {
            shard.has_step = true;
            return read_pair(v, extent.row_step, extent.column_step);
          },
          [] { return pair_shape("[rows, columns] from one of them to the next."); });
}

Status read_shard(JsonValue value, ShardingType type, ShardExtent& extent, ShardCost& cost) {
  ShardEntry shard;
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(value, [&](JsonMembers& members) {
    describe(members, shard, value.size() > kRequiredOfShard);
  }));
  if (shard.count < 1 || shard.count > SearchSpaceBuilder::kMaxShards) {
    return value.error("count must be between 1 and 2^24");
  }
  extent = shard.extent;
  cost = shard.cost;
  extent.count = static_cast<std::uint32_t>(shard.count);
  if (!shard.has_step && shard.count > 1) default_step(type, extent);
  if (shard.count == 1) extent.row_step = extent.column_step = 0;
  return {};
}

// The members of an option except its shards.
struct OptionEntry {
  std::string table, module;
  ShardingType sharding_type = ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  std::optional<embedding::PartitionBy> partition_by;
  std::optional<std::int64_t> batch_size, num_shards;
  std::optional<bool> is_pooled, is_weighted;
  std::optional<double> load_factor;
  std::optional<JsonValue> shards;
};

JsonShape shards_shape() {
  return json::list(shape_by([](JsonMembers& members) {
           ShardEntry sample;
           describe(members, sample, true);
         }))
      .from(1);
}

void describe(JsonMembers& members, OptionEntry& option) {
  const auto shards = [&](JsonValue v) {
    option.shards = v;
    return Status();
  };
  members.required("table", option.table)
      .optional("module", option.module)
      .required("sharding_type", option.sharding_type)
      .required("compute_kernel", option.compute_kernel)
      .optional("partition_by", option.partition_by)
      .optional("batch_size", option.batch_size, "Samples per rank of the costs.")
      .optional("is_pooled", option.is_pooled)
      .optional("is_weighted", option.is_weighted)
      .optional("load_factor", option.load_factor)
      .optional("num_shards", option.num_shards)
      .required_with("shards", shards, shards_shape)
      .ignore({"note"});
}

// Adds the place of `value` to an error of the builder.
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
    OptionEntry entry;
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, entry));
    SHARDWRIGHT_ASSIGN_OR_RETURN(const TableId id, find_table(value, entry.table, entry.module));
    SHARDWRIGHT_RETURN_IF_ERROR(
        at(value, builder_.begin_option(id.value(), entry.sharding_type, entry.compute_kernel)));
    ShardingOption& option = builder_.option();
    option.load_factor = entry.load_factor;
    if (entry.batch_size && *entry.batch_size != option.batch_size) {
      return value.error("the costs are those of " + std::to_string(*entry.batch_size) +
                         " samples per rank, and the problem has " +
                         std::to_string(option.batch_size) + "; give {batch_size} " +
                         std::to_string(*entry.batch_size) + ", or enumerate again");
    }
    option.is_pooled = entry.is_pooled.value_or(option.is_pooled);
    option.is_weighted = entry.is_weighted.value_or(option.is_weighted);
    if (entry.partition_by && *entry.partition_by != option.partition_by()) {
      return value.error(std::string(to_name(option.sharding_type)) + " is partitioned by " +
                         std::string(to_name(option.partition_by())) + ", not by " +
                         std::string(to_name(*entry.partition_by)));
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint64_t found,
                                 read_shards(*entry.shards, option.sharding_type));
    if (entry.num_shards && static_cast<std::uint64_t>(*entry.num_shards) != found) {
      return value.error("num_shards is " + std::to_string(*entry.num_shards) + ", but there are " +
                         std::to_string(found) + " shards");
    }
    return at(*entry.shards, builder_.end_option());
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

  // Adds the shards to the current option and returns their number.
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

// Warns if the costs are those of another TorchRec release, whose formulas differ.
void warn_of_release(JsonValue root, const Problem& problem, std::vector<Error>& warnings) {
  const std::optional<JsonValue> value = root.find("torchrec");
  if (!value || !value->is_string()) return;
  const auto release = embedding::from_name<embedding::TorchRecRelease>(*value->string());
  if (!release || *release == problem.spec().torchrec) return;
  const std::string made_for(to_name(*release)), own(to_name(problem.spec().torchrec));
  warnings.push_back(value->error("the costs are those of TorchRec " + made_for +
                                  ", and the problem has " + own + "; give {torchrec} " + made_for +
                                  ", or enumerate again"));
}

}  // namespace

Result<std::shared_ptr<const SearchSpace>> read_search_space(std::string_view text,
                                                             std::shared_ptr<const Problem> problem,
                                                             std::vector<Error>* warnings) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kSearchSpace));
  const std::optional<JsonValue> list = document.root().find("search_space");
  if (!list)
    return invalid_input(
        "", "the file has no key \"search_space\"; `shardwright enumerate` writes such a file");
  if (warnings != nullptr) warn_of_release(document.root(), *problem, *warnings);
  return Reader(std::move(problem)).read(*list);
}

JsonShape search_space_shape() {
  return json::object({{"search_space_size", json::natural()},
                       {"torchrec", shape_of(embedding::TorchRecRelease())},
                       {"search_space", json::list(shape_of(OptionEntry())), true}})
      .open()
      .says(
          "The options of all tables with their costs. `shardwright enumerate` writes it, "
          "`--search-space` reads it and ignores everything beside `search_space`.");
}

void write_perf(const Perf& perf, JsonWriter& json) {
  json.begin_array();
  for (const Milliseconds part :
       {perf.fwd_compute, perf.fwd_comms, perf.bwd_compute, perf.bwd_comms, perf.prefetch_compute})
    json.value(part.value());
  json.end_array();
}

JsonShape perf_shape() {
  return json::list(json::number().from(0))
      .from(5)
      .up_to(5)
      .says("[fwd_compute, fwd_comms, bwd_compute, bwd_comms, prefetch_compute] in ms.");
}

namespace {

using embedding::estimate_input_dist;
using embedding::estimate_inputs;
using embedding::Perf;
using embedding::SearchSpace;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::ShardRuns;
using embedding::to_name;

void write_pair(JsonWriter& json, std::string_view key, std::int64_t rows, std::int64_t columns) {
  json.key(key).begin_array().value(rows).value(columns).end_array();
}

// Facts that hold for all shards of an option.
struct OptionFacts {
  bool counts_ssd = false;
  Milliseconds input_dist_comms;  // not kept in options, since no sum or rating has it
};

// Returns the cost members, which all shards of a run share, without braces.
std::string cost_members(const ShardCost& cost, const OptionFacts& facts) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.begin_object()
      .member("hbm", cost.storage.hbm.value())
      .member("ddr", cost.storage.ddr.value());
  if (facts.counts_ssd || cost.storage.ssd != Bytes()) json.member("ssd", cost.storage.ssd.value());
  write_perf(cost.perf, json.key("perf"));
  if (facts.input_dist_comms != Milliseconds())
    json.member("input_dist_comms", facts.input_dist_comms.value());
  json.end_object().finish();
  return text.substr(1, text.rfind('}') - 1);
}

void write_run(const ShardExtent& extent, const ShardCost& cost, const OptionFacts& facts,
               JsonWriter& json) {
  json.begin_object();
  write_pair(json, "size", extent.rows, extent.columns);
  write_pair(json, "offset", extent.row_offset, extent.column_offset);
  if (extent.count > 1) {
    json.member("count", extent.count);
    write_pair(json, "step", extent.row_step, extent.column_step);
  }
  json.raw(cost_members(cost, facts)).end_object();
}

void write_expanded(const ShardExtent& extent, const ShardCost& cost, const OptionFacts& facts,
                    JsonWriter& json) {
  const std::string costs = cost_members(cost, facts);
  for (std::int64_t k = 0; k < extent.count; ++k) {
    json.begin_object();
    write_pair(json, "size", extent.rows, extent.columns);
    write_pair(json, "offset", extent.row_offset + k * extent.row_step,
               extent.column_offset + k * extent.column_step);
    json.raw(costs).end_object();
  }
}

void write_option(const SearchSpace& space, const ShardingOption& option, ShardForm form,
                  JsonWriter& json) {
  const embedding::Table& table = space.problem().table(option.table);
  json.begin_object()
      .member("table", table.name)
      .member("module", table.module)
      .member("sharding_type", to_name(option.sharding_type))
      .member("compute_kernel", to_name(option.compute_kernel))
      .member("partition_by", to_name(option.partition_by()))
      .member("batch_size", option.batch_size)
      .member("is_pooled", option.is_pooled)
      .member("is_weighted", option.is_weighted)
      .member("load_factor", option.load_factor)
      .member("num_shards", option.num_shards())
      .key("shards")
      .begin_array();
  const OptionFacts facts{space.problem().topology().counts_ssd(),
                          estimate_input_dist(estimate_inputs(space.problem(), option))};
  ShardRuns runs;
  for (std::size_t i = 0; i < option.costs.size(); ++i) {
    runs.append(option.layout->extents[i], option.costs[i]);
  }
  for (std::size_t i = 0; i < runs.costs.size(); ++i) {
    if (form == ShardForm::kRuns) {
      write_run(runs.layout.extents[i], runs.costs[i], facts, json);
    } else {
      write_expanded(runs.layout.extents[i], runs.costs[i], facts, json);
    }
  }
  json.end_array().end_object();
}

}  // namespace

void write_options(const SearchSpace& space, ShardForm form, JsonWriter& json) {
  json.begin_array();
  for (const ShardingOption& option : space.options()) {
    json.new_line();
    write_option(space, option, form, json);
  }
  json.new_line().end_array();
}

void write_search_space(const SearchSpace& space, ShardForm form, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object()
      .member("search_space_size", space.size())
      .member("torchrec", to_name(space.problem().spec().torchrec))
      .key("search_space");
  write_options(space, form, json);
  json.end_object().finish();
}

namespace {

using embedding::kMemoryTiers;
using embedding::MemoryTier;
using embedding::Perf;
using embedding::Problem;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::ShardRuns;
using embedding::Table;
using embedding::TableId;
using embedding::to_name;

// Keeps the byte sum of any plan within int64.
constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 62;

Error refused(std::string message) { return invalid_input("", std::move(message)); }

// Returns true if all shards of a run lie within the table, along one dimension.
bool within(std::int64_t offset, std::int64_t step, std::uint32_t count, std::int64_t size,
            std::int64_t limit) {
  if (size < 0 || size > limit || offset < 0 || offset > limit) return false;
  if (step < -limit || step > limit) return false;
  const std::int64_t steps = count - std::int64_t{1};
  if (steps > 0 && step != 0 && std::abs(step) > limit / steps) return false;
  const std::int64_t last = offset + step * steps;
  return last >= 0 && last + size <= limit;
}

// Packed quantised rows include scale and padding, so they have more columns than the table.
std::int64_t max_columns(const Problem& problem, const Table& table) {
  const bool packed = problem.spec().sharder.type == embedding::SharderSpec::Type::kQuant;
  return packed ? 8 * (table.embedding_dim + 32) : table.embedding_dim;
}

bool is_cost(const ShardCost& cost) {
  const Perf& perf = cost.perf;
  return !cost.storage.is_negative() &&
         std::ranges::all_of(
             std::initializer_list<Milliseconds>{perf.fwd_compute, perf.fwd_comms, perf.bwd_compute,
                                                 perf.bwd_comms, perf.prefetch_compute},
             [](Milliseconds time) { return time.value() >= 0 && std::isfinite(time.value()); });
}

ShardCost without_negative_zeros(ShardCost cost) {
  const auto plain = [](Milliseconds time) { return Milliseconds(time.value() + 0.0); };
  cost.perf = {plain(cost.perf.fwd_compute), plain(cost.perf.fwd_comms),
               plain(cost.perf.bwd_compute), plain(cost.perf.bwd_comms),
               plain(cost.perf.prefetch_compute)};
  return cost;
}

}  // namespace

SearchSpaceBuilder::SearchSpaceBuilder(std::shared_ptr<const Problem> problem)
    : problem_(std::move(problem)),
      layouts_(std::make_shared<embedding::ShardLayoutInterner>()),
      max_option_bytes_(kMaxTotalBytes / std::max<std::int64_t>(std::ssize(problem_->tables()), 1)),
      has_option_(problem_->tables().size(), false) {}

Status SearchSpaceBuilder::begin_option(std::uint64_t table, ShardingType type,
                                        embedding::ComputeKernel kernel) {
  if (table >= has_option_.size()) {
    return refused("there is no table " + std::to_string(table) + "; the problem has " +
                   std::to_string(has_option_.size()));
  }
  option_ = ShardingOption();
  option_.table = TableId(table);
  option_.sharding_type = type;
  option_.compute_kernel = kernel;
  option_.batch_size = problem_->batch_size();
  option_.is_pooled = problem_->table(option_.table).kind == embedding::TableKind::kPooled;
  option_.is_weighted = problem_->table(option_.table).weighted;
  runs_ = ShardRuns();
  const Bytes most(max_option_bytes_);
  bytes_left_ = {most, most, most};
  return {};
}

Status SearchSpaceBuilder::add_shards(const ShardExtent& extent, const ShardCost& cost) {
  if (extent.count < 1 || extent.count > kMaxShards) {
    return refused("count must be between 1 and 2^24");
  }
  if (!within_table(extent)) {
    const Table& table = problem_->table(option_.table);
    return refused("the shard is not within table \"" + table.name + "\" of " +
                   std::to_string(table.num_embeddings) + " x " +
                   std::to_string(table.embedding_dim));
  }
  if (!is_cost(cost)) return refused("bytes and times must be finite numbers, 0 or above");
  for (const MemoryTier tier : kMemoryTiers) {
    if (cost.storage[tier].value() > bytes_left_[tier].value() / extent.count)
      return refused("the bytes of the shards exceed what can be added up");
  }
  bytes_left_ -= std::int64_t{extent.count} * cost.storage;
  if (runs_.layout.num_shards > kMaxShards - extent.count)
    return refused("an option may have at most 2^24 shards");
  runs_.append(extent, without_negative_zeros(cost));
  return {};
}

bool SearchSpaceBuilder::within_table(const ShardExtent& extent) const {
  const Table& table = problem_->table(option_.table);
  return within(extent.row_offset, extent.row_step, extent.count, extent.rows,
                table.num_embeddings) &&
         within(extent.column_offset, extent.column_step, extent.count, extent.columns,
                max_columns(*problem_, table));
}

Status SearchSpaceBuilder::end_option() {
  if (runs_.layout.num_shards == 0) return refused("an option must have at least one shard");
  option_.layout = layouts_->intern(std::move(runs_.layout));
  option_.costs = std::move(runs_.costs);
  SHARDWRIGHT_RETURN_IF_ERROR(check_num_shards());
  SHARDWRIGHT_RETURN_IF_ERROR(check_tiling());
  SHARDWRIGHT_RETURN_IF_ERROR(check_distinct());
  has_option_[option_.table.index()] = true;
  options_.push_back(std::move(option_));
  return {};
}

// Checks that the shards tile the table, as every valid plan requires.
Status SearchSpaceBuilder::check_tiling() {
  const Table& table = problem_->table(option_.table);
  const Tiling tiling{option_.layout, option_.sharding_type, table.num_embeddings,
                      table.embedding_dim};
  if (tilings_.contains(tiling)) return {};
  const bool quantised = problem_->spec().sharder.type == embedding::SharderSpec::Type::kQuant;
  if (!embedding::shards_tile_table(option_, table, quantised)) {
    return refused("the shards do not hold every row and column of table \"" + table.name +
                   "\" once");
  }
  tilings_.insert(tiling);
  return {};
}

// Checks that options of one name in plan files (type, kernel, load factor, shards) cost the same.
Status SearchSpaceBuilder::check_distinct() {
  const Name name{option_.table.value(), option_.sharding_type, option_.compute_kernel,
                  option_.load_factor, option_.layout};
  const auto [first, added] = names_.try_emplace(name, options_.size());
  if (added || options_[first->second].costs == option_.costs) return {};
  return refused("table \"" + problem_->table(option_.table).name +
                 "\" has this option twice, with different costs");
}

// Checks the number of shards that partitioners assume. Source:
// GreedyPerfPartitioner._uniform_partition, torchrec/distributed/planner/partitioners.py.
Status SearchSpaceBuilder::check_num_shards() const {
  const std::uint32_t world = problem_->topology().world_size();
  const std::uint32_t local = problem_->topology().local_world_size();
  const std::uint32_t count = option_.num_shards();
  const auto wrong = [&](const std::string& what, std::uint32_t number, const char* rest) {
    return refused("a " + std::string(to_name(option_.sharding_type)) + " option must have " +
                   what + " (" + std::to_string(number) + ")" + rest + ", has " +
                   std::to_string(count));
  };
  if (option_.partition_by() == embedding::PartitionBy::kUniform && count != world) {
    return wrong("one shard per rank", world, "");
  }
  if (option_.sharding_type == ShardingType::kTableRowWise && count != local) {
    return wrong("one shard per rank of a host", local, "");
  }
  if (option_.sharding_type == ShardingType::kGridShard && count % local != 0) {
    return wrong("a multiple of the ranks of a host", local, " of shards");
  }
  return {};
}

Result<std::shared_ptr<const embedding::SearchSpace>> SearchSpaceBuilder::finish() {
  for (std::size_t i = 0; i < has_option_.size(); ++i) {
    if (!has_option_[i]) {
      const Table& table = problem_->tables()[i];
      return refused("has no option for table \"" + table.name + "\" of module \"" + table.module +
                     "\"");
    }
  }
  return embedding::SearchSpace::make(problem_, layouts_, std::move(options_));
}

}  // namespace shardwright
