#include "search/embedding/questions/explain/infeasible/problem_changes.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/embedding/problem/placement_spec.h"

namespace shardwright::embedding {
namespace {

// How far changes are tried: up to a multiple of what the problem has, or these amounts if larger.
constexpr std::int64_t kMostTimes = 16;
constexpr std::int64_t kMostRanks = 8192;
constexpr std::int64_t kMostMemoryBytes = std::int64_t{1} << 40;
constexpr double kPercent = 0.01;

std::vector<TableGroup> narrowed(const std::vector<TableGroup>& groups,
                                 const std::set<std::string>& names) {
  std::vector<TableGroup> left;
  for (TableGroup group : groups) {
    const auto gone =
        std::remove_if(group.tables.begin(), group.tables.end(),
                       [&](const std::string& name) { return !names.contains(name); });
    group.tables.erase(gone, group.tables.end());
    if (!group.tables.empty()) left.push_back(std::move(group));
  }
  return left;
}

SteppedChange more_ranks(const Problem& problem) {
  const ProblemSpec& base = problem.spec();
  const std::int64_t ranks = problem.topology().world_size();
  SteppedChange change;
  change.kind = Remedy::Kind::kRanks;
  change.most = std::min(kMostTimes * ranks, std::max(kMostRanks, 2 * ranks)) - ranks;
  change.from = static_cast<double>(ranks);
  change.step = 1;
  change.value = [ranks](std::int64_t step) { return static_cast<double>(ranks + step); };
  change.spec = [&base, ranks](std::int64_t step) {
    ProblemSpec spec = base;
    spec.topology.world_size = spec.topology.local_world_size = ranks + step;
    return spec;
  };
  return change;
}

SteppedChange more_hosts(const Problem& problem) {
  const ProblemSpec& base = problem.spec();
  const std::int64_t hosts = problem.topology().num_hosts();
  const std::int64_t local = problem.topology().local_world_size();
  SteppedChange change;
  change.kind = Remedy::Kind::kHosts;
  change.most = std::min(kMostTimes * hosts, std::max(kMostRanks / local, 2 * hosts)) - hosts;
  change.from = static_cast<double>(hosts);
  change.step = 1;
  change.value = [hosts](std::int64_t step) { return static_cast<double>(hosts + step); };
  change.spec = [&base, hosts, local](std::int64_t step) {
    ProblemSpec spec = base;
    spec.topology.world_size = (hosts + step) * local;
    spec.topology.local_world_size = local;
    return spec;
  };
  return change;
}

Remedy::Kind kind_of(MemoryTier tier) {
  switch (tier) {
    case MemoryTier::kHbm:
      return Remedy::Kind::kHbm;
    case MemoryTier::kDdr:
      return Remedy::Kind::kDdr;
    case MemoryTier::kSsd:
      break;
  }
  return Remedy::Kind::kSsd;
}

// More memory of one tier: the capacity of all ranks or, if it is given by rank, what each rank
// adds.
SteppedChange more_memory(const Problem& problem, MemoryTier tier) {
  const ProblemSpec& base = problem.spec();
  const bool by_rank = !base.topology.custom_cap_bytes(tier).empty();
  const std::int64_t now = by_rank ? 0 : problem.topology().storage().front()[tier].value();
  // Without any SSD, its kernel is not among the options.
  const bool adds_options = tier == MemoryTier::kSsd && !problem.topology().has_ssd();
  const auto value = [now](std::int64_t step) { return (now / kMebibyte + step) * kMebibyte; };
  SteppedChange change;
  change.kind = kind_of(tier);
  change.most = std::max(kMostMemoryBytes, kMostTimes * now) / kMebibyte - now / kMebibyte;
  change.from = static_cast<double>(now);
  change.step = static_cast<double>(kMebibyte);
  change.each_rank_adds = by_rank;
  change.same_costs = !by_rank && !adds_options;
  change.value = [value](std::int64_t step) { return static_cast<double>(value(step)); };
  change.spec = [&base, tier, by_rank, value](std::int64_t step) {
    ProblemSpec spec = base;
    if (!by_rank) spec.topology.set_cap_bytes(tier, value(step));
    for (std::int64_t& bytes : spec.topology.custom_cap_bytes(tier))
      bytes += value(step);
    return spec;
  };
  return change;
}

SteppedChange smaller_batch(const Problem& problem) {
  const ProblemSpec& base = problem.spec();
  const std::int64_t batch = base.batch_size;
  SteppedChange change;
  change.kind = Remedy::Kind::kBatchSize;
  change.most = batch - 1;
  change.from = static_cast<double>(batch);
  change.step = 1;
  change.value = [batch](std::int64_t step) { return static_cast<double>(batch - step); };
  change.spec = [&base, batch](std::int64_t step) {
    ProblemSpec spec = base;
    spec.batch_size = batch - step;
    return spec;
  };
  return change;
}

SteppedChange smaller_reservation(const Problem& problem) {
  const ProblemSpec& base = problem.spec();
  // The slack keeps the rounding of a whole percentage from making a step of its own.
  const auto above =
      static_cast<std::int64_t>(std::ceil(base.reservation.percentage / kPercent - 1e-9));
  SteppedChange change;
  change.kind = Remedy::Kind::kReservation;
  change.most = above;
  change.from = base.reservation.percentage;
  change.step = kPercent;
  change.same_costs = true;
  const auto value = [above](std::int64_t step) { return static_cast<double>(above - step) / 100; };
  change.value = value;
  change.spec = [&base, value](std::int64_t step) {
    ProblemSpec spec = base;
    spec.reservation.percentage = value(step);
    return spec;
  };
  return change;
}

void add_constraints_of(const Problem& problem, TableId id,
                        std::vector<DroppableConstraint>& constraints) {
  const Table& table = problem.table(id);
  const std::string name = table.name;
  // Tables of one name share their constraints.
  const auto add = [&](bool given, const char* key, auto drop) {
    if (!given) return;
    constraints.push_back({constraints_place(name) + "/" + key, [name, drop](ProblemSpec& spec) {
                             for (Table& other : spec.tables) {
                               if (other.name == name) drop(other);
                             }
                           }});
  };
  if (table.constraints) {
    const ParameterConstraints& own = *table.constraints;
    add(!own.sharding_types.empty(), "sharding_types",
        [](Table& t) { t.constraints->sharding_types.clear(); });
    add(!own.compute_kernels.empty(), "compute_kernels",
        [](Table& t) { t.constraints->compute_kernels.clear(); });
    add(own.min_partition.has_value(), "min_partition",
        [](Table& t) { t.constraints->min_partition.reset(); });
  }
  const TablePlacement& rules = table.placement;
  add(rules.ranks.has_value(), "ranks", [](Table& t) { t.placement.ranks.reset(); });
  add(rules.hosts.has_value(), "hosts", [](Table& t) { t.placement.hosts.reset(); });
  add(!rules.shard_ranks.empty(), "shard_ranks", [](Table& t) { t.placement.shard_ranks.clear(); });
  add(rules.max_shards.has_value(), "max_shards", [](Table& t) { t.placement.max_shards.reset(); });
  add(rules.distinct_ranks, "distinct_ranks", [](Table& t) { t.placement.distinct_ranks = false; });
}

void add_groups(const std::vector<TableGroup> ProblemSpec::*groups, const char* key,
                const Problem& problem, const std::set<std::string>& names,
                std::vector<DroppableConstraint>& constraints) {
  const std::vector<TableGroup>& all = problem.spec().*groups;
  for (std::size_t g = 0; g < all.size(); ++g) {
    const bool touches = std::any_of(all[g].tables.begin(), all[g].tables.end(),
                                     [&](const std::string& name) { return names.contains(name); });
    if (!touches) continue;
    const bool together = groups == &ProblemSpec::keep_together;
    constraints.push_back(
        {"/" + std::string(key) + "/" + std::to_string(g), [g, together](ProblemSpec& spec) {
           auto& list = together ? spec.keep_together : spec.keep_apart;
           list.erase(list.begin() + static_cast<std::ptrdiff_t>(g));
         }});
  }
}

}  // namespace

ProblemSpec only_tables(const ProblemSpec& spec, std::span<const TableId> tables) {
  ProblemSpec narrow = spec;
  narrow.tables.clear();
  std::set<std::string> names;
  for (const TableId id : tables) {
    narrow.tables.push_back(spec.tables[id.index()]);
    names.insert(spec.tables[id.index()].name);
  }
  narrow.keep_together = narrowed(spec.keep_together, names);
  narrow.keep_apart = narrowed(spec.keep_apart, names);
  return narrow;
}

bool is_given_by_rank(const Problem& problem) {
  const ProblemSpec& spec = problem.spec();
  const auto by_rank = [&](MemoryTier tier) {
    return !spec.topology.custom_cap_bytes(tier).empty() ||
           spec.memory.reserved_bytes[tier].size() > 1;
  };
  return std::any_of(kMemoryTiers.begin(), kMemoryTiers.end(), by_rank) ||
         !spec.calibration.rank_time.empty();
}

std::vector<SteppedChange> stepped_changes(const Problem& problem) {
  std::vector<SteppedChange> changes;
  // More ranks are more replicas, not more memory.
  const TopologySpec& topology = problem.spec().topology;
  const bool is_laid_out = topology.groups || !topology.pod_sizes.empty();
  if (!is_given_by_rank(problem) && !is_laid_out) {
    if (problem.topology().is_one_host()) changes.push_back(more_ranks(problem));
    changes.push_back(more_hosts(problem));
  }
  if (problem.topology().has_hbm()) changes.push_back(more_memory(problem, MemoryTier::kHbm));
  changes.push_back(more_memory(problem, MemoryTier::kDdr));
  if (problem.topology().counts_ssd()) changes.push_back(more_memory(problem, MemoryTier::kSsd));
  if (problem.batch_size() > 1) changes.push_back(smaller_batch(problem));
  const ReservationSpec& reservation = problem.spec().reservation;
  if (problem.topology().has_hbm() && reservation.takes_percentage() &&
      reservation.percentage > 0) {
    changes.push_back(smaller_reservation(problem));
  }
  return changes;
}

std::vector<DroppableConstraint> droppable_constraints(const Problem& problem,
                                                       std::span<const TableId> tables) {
  std::vector<DroppableConstraint> constraints;
  std::set<std::string> names;
  for (const TableId id : tables) {
    if (names.insert(problem.table(id).name).second) add_constraints_of(problem, id, constraints);
  }
  add_groups(&ProblemSpec::keep_together, "keep_together", problem, names, constraints);
  add_groups(&ProblemSpec::keep_apart, "keep_apart", problem, names, constraints);
  const MemoryLimits& memory = problem.spec().memory;
  if (memory.any_reserved()) {
    constraints.push_back(
        {"/reserved_memory", [](ProblemSpec& spec) { spec.memory.reserved_bytes = {}; }});
  }
  if (memory.any_margin()) {
    constraints.push_back({"/memory_margin", [](ProblemSpec& spec) { spec.memory.margins = {}; }});
  }
  return constraints;
}

}  // namespace shardwright::embedding
