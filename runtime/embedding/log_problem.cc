#include "runtime/embedding/log_problem.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "search/embedding/compat/estimate.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright {
namespace {

using embedding::MemoryTier;
using embedding::Problem;
using embedding::ProblemSpec;
using embedding::Rank;
using embedding::ShardCost;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::ShardLayout;
using embedding::Table;
using embedding::TableId;

bool is_cut_by_columns(ShardingType type) {
  return type == ShardingType::kColumnWise || type == ShardingType::kTableColumnWise ||
         type == ShardingType::kGridShard;
}

// Features have equal pooling. Then the printed sums give the inputs and outputs of a sample.
embedding::ParameterConstraints constraints_of(const LoggedTable& logged, bool same_type) {
  embedding::ParameterConstraints constraints;
  const auto features = static_cast<std::size_t>(logged.num_features);
  const double poolings = logged.num_poolings / static_cast<double>(features);
  constraints.pooling_factors.assign(features,
                                     logged.num_poolings > 0 && logged.num_indices > 0
                                         ? logged.num_indices / logged.num_poolings
                                         : logged.pooling_factor / static_cast<double>(features));
  if (poolings != 1) constraints.num_poolings.assign(features, poolings);
  constraints.batch_sizes = logged.batch_sizes;
  constraints.is_weighted = logged.is_weighted;
  constraints.compute_kernels = {logged.compute_kernel};
  if (same_type) constraints.sharding_types = {logged.sharding_type};
  if (is_cut_by_columns(logged.sharding_type)) constraints.min_partition = logged.shard_columns;
  if (logged.load_factor) constraints.cache_params.emplace().load_factor = logged.load_factor;
  return constraints;
}

Table table_of(const LoggedTable& logged, const LogConstants& constants, bool same_type) {
  Table table;
  table.name = logged.name;
  table.module = logged.module;
  table.num_embeddings = logged.rows;
  table.embedding_dim = logged.columns;
  for (std::int64_t i = 0; i < logged.num_features; ++i)
    table.features.push_back(logged.name + (i == 0 ? "" : "#" + std::to_string(i + 1)));
  table.kind = logged.is_pooled ? embedding::TableKind::kPooled : embedding::TableKind::kSequence;
  table.feature_processed = logged.sharder.starts_with("FeatureProcessed");
  table.weighted = logged.is_weighted && table.module_has_weights();
  table.data_type = constants.weights;
  table.optimizer = constants.optimizer;
  table.constraints = constraints_of(logged, same_type);
  return table;
}

// The log has the memory of a rank after the reservation of a percentage, with three decimals.
void set_memory(const PlannerLog& log, ProblemSpec& spec) {
  double fullest = 0;
  double fullest_ddr = 0;
  for (const LoggedRank& rank : log.ranks) {
    fullest = std::max(fullest, rank.hbm_gib);
    fullest_ddr = std::max(fullest_ddr, rank.ddr_gib);
  }
  // A plan that runs has room, whatever its planner thought.
  const double planning = std::max(log.planning_hbm.value_or(0), fullest);
  const double reserved = log.reserved_hbm.value_or(0);
  spec.reservation.type = embedding::ReservationSpec::Type::kFixed;
  spec.reservation.percentage = reserved > 0 ? reserved / (planning + reserved) : 0;
  if (has_hbm(log)) {
    spec.topology.hbm_cap_bytes = printed_bytes(planning + reserved + 2 * kPrintedHalfUnit);
    spec.memory.reserved_bytes.hbm = {printed_bytes(log.dense.hbm + log.inputs.hbm)};
  }
  spec.topology.ddr_cap_bytes = printed_bytes(std::max(log.planning_ddr.value_or(0), fullest_ddr));
  spec.memory.reserved_bytes.ddr = {printed_bytes(log.dense.ddr + log.inputs.ddr)};
}

Error at_table(const LoggedTable& table, const std::string& message) {
  return invalid_input("line " + std::to_string(table.line),
                       "table " + quoted(table.name) + " " + message);
}

// Gives the estimates of the shards the sums that the log has.
void set_printed_costs(const LoggedTable& logged, bool keeps_times, ShardingOption& option) {
  const embedding::Storage storage = option.total_storage();
  const double time = option.total_perf().value();
  for (ShardCost& cost : option.costs) {
    const double shards = option.num_shards();
    const double share = time > 0 ? cost.perf.total().value() / time : 1 / shards;
    // The parts are printed with fewer digits than the total, and are scaled to it.
    double sum = 0;
    for (const double part : logged.time.parts)
      sum += part;
    const auto part = [&](std::size_t i) {
      const double whole = sum > 0 ? logged.time.parts[i] / sum * logged.time.total : 0;
      return Milliseconds(share * whole);
    };
    if (!keeps_times) cost.perf = {part(0), part(1), part(2), part(3), part(4)};
    if (!keeps_times && sum == 0) cost.perf.fwd_compute = Milliseconds(share * logged.time.total);
    for (const MemoryTier tier : embedding::kMemoryTiers) {
      const auto all = static_cast<double>(storage[tier].value());
      const double part_of_all =
          all > 0 ? static_cast<double>(cost.storage[tier].value()) / all : 1 / shards;
      const double bytes = part_of_all * logged.storage_gib[tier] * static_cast<double>(kGibibyte);
      cost.storage[tier] = Bytes(static_cast<std::int64_t>(bytes));
    }
  }
}

// Returns the ranks in the order of the shards: block after block of a host's ranks for a grid.
std::vector<std::int64_t> in_shard_order(const LoggedTable& logged, std::int64_t host) {
  if (logged.sharding_type != ShardingType::kGridShard) return logged.ranks;
  std::map<std::int64_t, std::int64_t> blocks;  // by rank
  for (const std::int64_t rank : logged.ranks)
    ++blocks[rank];
  std::vector<std::int64_t> ranks;
  while (!blocks.empty()) {
    const std::int64_t first = blocks.begin()->first / host * host;
    for (auto it = blocks.begin(); it != blocks.end() && it->first < first + host;) {
      ranks.push_back(it->first);
      it = --it->second == 0 ? blocks.erase(it) : std::next(it);
    }
  }
  return ranks;
}

}  // namespace

bool has_hbm(const PlannerLog& log) {
  return std::any_of(log.tables.begin(), log.tables.end(),
                     [](const LoggedTable& table) { return table.storage_gib.hbm > 0; }) ||
         log.planning_hbm.value_or(0) > 0;
}

double default_memory_bw(const PlannerLog& log) {
  const embedding::TopologySpec defaults;
  return has_hbm(log) ? defaults.hbm_mem_bw : defaults.ddr_mem_bw;
}

ProblemSpec problem_of_log(const PlannerLog& log, const LogConstants& constants, bool same_types) {
  ProblemSpec spec;
  spec.torchrec = constants.release;
  spec.batch_size = *log.batch_size;
  spec.topology.world_size = static_cast<std::int64_t>(log.ranks.size());
  spec.topology.local_world_size = constants.ranks_per_host;
  spec.topology.machine = constants.machine;
  spec.topology.intra_host_bw = constants.intra_host_bw;
  spec.topology.inter_host_bw = constants.inter_host_bw;
  if (has_hbm(log)) {
    spec.topology.hbm_mem_bw = constants.memory_bw;
  } else {
    spec.topology.compute_device = embedding::ComputeDevice::kCpu;
    spec.topology.ddr_mem_bw = constants.memory_bw;
  }
  const embedding::CommCodec all_to_all{constants.forward, constants.backward};
  spec.sharder.pooled_all_to_all = spec.sharder.sequence_all_to_all = all_to_all;
  spec.sharder.pooled_reduce_scatter = {constants.reduction, constants.reduction};
  spec.storage_estimator.pipeline_type = constants.pipeline_type;
  set_memory(log, spec);
  std::unordered_map<std::string, const Table*> first_of;  // by module
  std::unordered_map<std::string, int> rows_of;            // by name: constraints are by name alone
  spec.tables.reserve(log.tables.size());
  for (const LoggedTable& logged : log.tables) {
    Table& table = spec.tables.emplace_back(table_of(logged, constants, same_types));
    if (const int row = ++rows_of[table.name]; row > 1) table.name += "#" + std::to_string(row);
    // Tables of a module agree in their kind; weights of processed features are by table.
    const Table& first = *first_of.emplace(table.module, &table).first->second;
    if (first.kind != table.kind || first.weighted != table.weighted ||
        first.feature_processed != table.feature_processed)
      table.module += "#2";
  }
  return spec;
}

Result<std::shared_ptr<const embedding::SearchSpace>> options_of_log(
    const PlannerLog& log, std::shared_ptr<const Problem> problem) {
  const embedding::Estimator estimator(*problem);
  const auto layouts = std::make_shared<embedding::ShardLayoutInterner>();
  std::vector<ShardingOption> options;
  options.reserve(log.tables.size());
  for (std::size_t i = 0; i < log.tables.size(); ++i) {
    const LoggedTable& logged = log.tables[i];
    ShardingOption option;
    option.table = TableId(static_cast<std::uint32_t>(i));
    option.sharding_type = logged.sharding_type;
    option.compute_kernel = logged.compute_kernel;
    option.load_factor = logged.load_factor;
    const Table& table = problem->table(option.table);
    ShardLayout layout = shard_layout(table, tensor_shape(table, problem->spec().sharder.type),
                                      option.sharding_type, problem->topology());
    if (layout.num_shards != logged.ranks.size()) {
      return at_table(logged, "has " + std::to_string(logged.ranks.size()) + " ranks for its " +
                                  std::to_string(layout.num_shards) + " shards");
    }
    option.layout = layouts->intern(std::move(layout));
    Result<ShardingOption> estimated = estimator.estimate(std::move(option));
    if (!estimated.ok()) return at_table(logged, "has no estimate: " + estimated.error().message);
    options.push_back(std::move(estimated).value());
    set_printed_costs(logged, problem->topology().spec().machine != nullptr, options.back());
  }
  return embedding::SearchSpace::make(std::move(problem), layouts, std::move(options));
}

std::vector<PlanEntry> plan_of_log(const PlannerLog& log, const embedding::SearchSpace& space) {
  const Problem& problem = space.problem();
  std::vector<PlanEntry> entries;
  for (std::size_t i = 0; i < log.tables.size(); ++i) {
    const ShardingOption& option = space.options()[i];
    const Table& table = problem.table(option.table);
    PlanEntry& entry = entries.emplace_back();
    entry.table = table.name;
    entry.module = table.module;
    entry.sharding_type = option.sharding_type;
    entry.compute_kernel = option.compute_kernel;
    entry.load_factor = option.load_factor;
    entry.ranks = in_shard_order(log.tables[i], problem.topology().local_world_size());
  }
  return entries;
}

}  // namespace shardwright
