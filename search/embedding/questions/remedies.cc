#include "search/embedding/questions/remedies.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/table.h"
#include "search/embedding/questions/fit_oracle.h"

namespace shardwright::embedding {
namespace {

// A change in steps. Step 0 is the unchanged problem, and every step makes the problem easier.
struct SteppedChange {
  Remedy::Kind kind = Remedy::Kind::kRanks;
  std::int64_t most = 0;  // the last step
  double from = 0;        // at step 0, in the unit of Remedy
  double step = 0;        // how much the value changes per step; the first step may be shorter
  bool each_rank_adds = false;
  bool same_costs = false;  // options and costs do not depend on the step
  std::function<double(std::int64_t)> value;
  std::function<ProblemSpec(std::int64_t)> spec;
};

// A constraint that may be dropped. `place`: its JSON pointer.
struct DroppableConstraint {
  std::string place;
  std::function<void(ProblemSpec&)> drop;
};

// A value is raised up to this multiple of the problem's value, or to these amounts if they are
// larger.
constexpr std::int64_t kMostTimes = 16;
constexpr std::int64_t kMostRanks = 8192;
constexpr std::int64_t kMostMemoryBytes = std::int64_t{1} << 40;
constexpr double kPercent = 0.01;

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

// More memory of one tier: a larger capacity of all ranks, or an addition to every rank if the
// problem gives memory by rank.
SteppedChange more_memory(const Problem& problem, MemoryTier tier) {
  const ProblemSpec& base = problem.spec();
  const bool by_rank = !base.topology.custom_cap_bytes(tier).empty();
  const std::int64_t now = by_rank ? 0 : problem.topology().storage().front()[tier].value();
  // Without SSD, the options have no SSD kernel.
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
  // 1e-9 makes up for the rounding of a whole percentage.
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
  // Tables of the same name share their constraints.
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

// Returns true if memory, time factors or reserved bytes are given rank by rank, so that those of
// further ranks are unknown.
bool is_given_by_rank(const Problem& problem) {
  const ProblemSpec& spec = problem.spec();
  const auto by_rank = [&](MemoryTier tier) {
    return !spec.topology.custom_cap_bytes(tier).empty() ||
           spec.memory.reserved_bytes[tier].size() > 1;
  };
  return std::any_of(kMemoryTiers.begin(), kMemoryTiers.end(), by_rank) ||
         !spec.calibration.rank_time.empty();
}

// Returns the changes that apply to the problem, in this order: ranks (of a single host), hosts,
// HBM, DDR and (if counted) SSD per rank in steps of 1 MiB, batch size, reserved fraction in steps
// of 0.01.
std::vector<SteppedChange> stepped_changes(const Problem& problem) {
  std::vector<SteppedChange> changes;
  // With sharding groups or pods, more ranks are more replicas and not more memory.
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

// Returns constraints on the options and places of `tables`, groups that name one of `tables`, and
// memory that is set aside beyond the reservation.
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

constexpr std::size_t kMostDropped = 200;     // constraints tried
constexpr std::size_t kMostListed = 8;        // stops after this many constraints that help
constexpr std::size_t kMostUnsettled = 12;    // constraints that a quick search leaves open
constexpr std::size_t kMostFullSearches = 3;  // full searches of open constraints

// Thread safety: one thread at a time.
class RemedyFinder {
 public:
  RemedyFinder(const Fit& present, bool proved, std::span<const TableId> tables, FitOracle& oracle)
      : present_(present),
        problem_(*present.problem),
        proved_(proved),
        tables_(tables),
        oracle_(oracle) {}

  Remedies run() {
    if (is_given_by_rank(problem_))
      found_.in_vain.push_back({Remedy::Kind::kRanks, FailedRemedy::Reason::kRanksDiffer});
    for (const SteppedChange& change : stepped_changes(problem_)) {
      if (oracle_.stopped()) return std::move(found_);
      step_through(change);
    }
    drop_constraints();
    return std::move(found_);
  }

 private:
  void step_through(const SteppedChange& change) {
    const auto fit_of = [&](std::int64_t step, Effort effort) {
      return oracle_.ask(change.spec(step), effort,
                         change.same_costs ? present_.search_space : nullptr);
    };
    StepSearch search(change.most, oracle_.quick_is_full(), fit_of);
    const std::optional<FoundStep> found = search.run();
    if (!found) {
      found_.in_vain.push_back(
          {change.kind,
           search.stopped() ? FailedRemedy::Reason::kStopped : FailedRemedy::Reason::kNotEnough,
           change.value(change.most), change.each_rank_adds});
      return;
    }
    Remedy remedy;
    remedy.kind = change.kind;
    remedy.from = change.from;
    remedy.to = change.value(found->step);
    remedy.step = change.step;
    remedy.each_rank_adds = change.each_rank_adds;
    remedy.rating = found->fit.rating;
    remedy.less_is_impossible = found->step == 1 ? proved_ : found->less_is_impossible;
    found_.remedies.push_back(std::move(remedy));
  }

  void drop_constraints() {
    const std::vector<DroppableConstraint> constraints = droppable_constraints(problem_, tables_);
    if (constraints.empty()) return;
    const std::size_t most = std::min(constraints.size(), kMostDropped);
    std::size_t tried = 0;
    std::size_t listed = 0;
    std::size_t unsettled = 0;
    while (tried < most && listed < kMostListed && unsettled < kMostUnsettled &&
           !oracle_.stopped()) {
      const DroppableConstraint& constraint = constraints[tried++];
      const Fit fit = without(constraint, unsettled);
      if (!fit.fits()) continue;
      ++listed;
      Remedy remedy;
      remedy.kind = Remedy::Kind::kConstraint;
      remedy.constraint = constraint.place;
      remedy.rating = fit.rating;
      remedy.less_is_impossible = proved_;
      found_.remedies.push_back(std::move(remedy));
    }
    if (listed > 0) return;
    FailedRemedy vain{Remedy::Kind::kConstraint, FailedRemedy::Reason::kNoneSuffices};
    vain.tried = tried;
    vain.constraints = constraints.size();
    found_.in_vain.push_back(vain);
  }

  Fit without(const DroppableConstraint& constraint, std::size_t& unsettled) {
    ProblemSpec spec = problem_.spec();
    constraint.drop(spec);
    const bool quick_is_full = oracle_.quick_is_full();
    Fit fit = oracle_.ask(spec, quick_is_full ? Effort::kFull : Effort::kQuick);
    if (fit.fits() || fit.impossible() || quick_is_full) return fit;
    if (unsettled++ < kMostFullSearches) fit = oracle_.ask(std::move(spec), Effort::kFull);
    return fit;
  }

  const Fit& present_;
  const Problem& problem_;
  bool proved_;
  std::span<const TableId> tables_;
  FitOracle& oracle_;
  Remedies found_;
};

}  // namespace

Remedies find_remedies(const Fit& present, bool proved, std::span<const TableId> tables,
                       FitOracle& oracle) {
  return RemedyFinder(present, proved, tables, oracle).run();
}

}  // namespace shardwright::embedding
