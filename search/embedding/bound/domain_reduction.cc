#include "search/embedding/bound/domain_reduction.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "search/embedding/bound/aggregate_bound.h"

namespace shardwright::embedding {
namespace {

// The least load and memory that one or several tables use on every rank of a class.
struct CommonUse {
  double load = 0;
  PerTier<double> bytes = {};

  void add(const CommonUse& other, double tables) {
    load += tables * other.load;
    for (const MemoryTier tier : kMemoryTiers)
      bytes[tier] += tables * other.bytes[tier];
  }
};

CommonUse use_of(const BoundRow& row) { return {row.load, row.bytes}; }

CommonUse least_of(CommonUse a, const CommonUse& b) {
  a.load = std::min(a.load, b.load);
  for (const MemoryTier tier : kMemoryTiers)
    a.bytes[tier] = std::min(a.bytes[tier], b.bytes[tier]);
  return a;
}

// Reduction by common use. Thread safety: one thread at a time. Refers to its arguments.
class CommonLoad {
 public:
  CommonLoad(const BoundRows& rows, double target, Domain& domain)
      : rows_(rows), classes_(rows.classes()), target_(target), domain_(domain) {}

  void reduce(Budget& budget) {
    budget.spend(TableKinds::steps_to_group(domain_));
    groups_ = rows_.kinds().groups(domain_);
    for (int round = 0; round < kMaxRounds && !budget.interrupted() && reduce_once(budget);
         ++round) {
    }
  }

 private:
  // Later rounds remove little. check_bound() allows more rounds.
  static constexpr int kMaxRounds = 8;

  // Returns true if a choice lost one or all of its classes.
  bool reduce_once(Budget& budget) {
    const ChoiceModel& model = rows_.model();
    total_.assign(classes_.size(), {});
    of_group_.assign(groups_.size() * classes_.size(), {});
    for (std::size_t group = 0; group < groups_.size(); ++group)
      add_group(group);
    bool any = false;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const std::uint32_t first = groups_[group].first();
      budget.spend(model.choices(first).size());
      for (std::uint32_t i = 0; i < model.choices(first).size(); ++i) {
        if (!restrict(model.first_choice(first) + i, group)) continue;
        any = true;
        for (const std::uint32_t table : groups_[group].tables)
          domain_[model.first_choice(table) + i] = domain_[model.first_choice(first) + i];
      }
    }
    return any;
  }

  void add_group(std::size_t group) {
    const ChoiceModel& model = rows_.model();
    const std::uint32_t table = groups_[group].first();
    CommonUse* const common_use = &of_group_[group * classes_.size()];
    bool first = true;
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      const std::uint32_t choice = model.first_choice(table) + i;
      if (domain_[choice] == 0) continue;
      const std::span<const BoundRow> rows = rows_.rows_of(choice);
      if (rows.empty() || !rows.front().in_class) {
        std::fill(common_use, common_use + classes_.size(), CommonUse());
        return;
      }
      for (const BoundRow& row : rows) {
        CommonUse& least = common_use[row.run];
        const CommonUse use = use_of(row);
        least = first ? use : least_of(least, use);
      }
      first = false;
    }
    for (std::size_t c = 0; c < classes_.size(); ++c)
      total_[c].add(common_use[c], groups_[group].size());
  }

  // Returns true if a shard of the group fits beside the common use of all other tables.
  bool fits(const BoundRow& row, std::size_t c, std::size_t group) const {
    const CommonUse& own = of_group_[group * classes_.size() + c];
    const CommonUse& all = total_[c];
    const Storage& room = classes_[c].room;
    const CommonUse use = use_of(row);
    // The target is raised slightly, because check_bound() rounds sums and uses a slightly lower
    // bound.
    const double limit = classes_.load_limit(c, target_) * (1 + kBoundRounding);
    return use.load + all.load - own.load < limit &&
           std::all_of(kMemoryTiers.begin(), kMemoryTiers.end(), [&](MemoryTier tier) {
             return use.bytes[tier] + all.bytes[tier] - own.bytes[tier] <=
                    static_cast<double>(room[tier].value());
           });
  }

  // Removes classes where a choice of the group's first table does not fit. Returns true if it lost
  // any.
  bool restrict(std::uint32_t choice, std::size_t group) {
    ClassSet left = domain_[choice];
    if (left == 0) return false;
    const Choice& own = rows_.model().choices()[choice];
    const bool one_place = own.reach == Reach::kDevice && own.num_shards == 1;
    for (const BoundRow& row : rows_.rows_of(choice)) {
      if (row.in_class) {
        if (!fits(row, row.run, group)) left = 0;
        continue;
      }
      ClassSet here = 0;
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        if ((left >> c & 1) != 0 && fits(row, c, group)) here |= ClassSet{1} << c;
      }
      if (here == 0 || one_place) left = here;
    }
    return std::exchange(domain_[choice], left) != left;
  }

  const BoundRows& rows_;
  const RankClasses& classes_;
  double target_;
  Domain& domain_;
  std::vector<EqualTables> groups_;
  std::vector<CommonUse> total_;     // by class
  std::vector<CommonUse> of_group_;  // [group x classes + class], of one table
};

// Returns true if a choice was removed.
bool fix_by_reduced_costs(const BoundRows& rows, double target,
                          const std::vector<CapacityMultipliers>& multipliers, Domain& domain,
                          Budget& budget) {
  budget.spend(TableKinds::steps_to_group(domain));
  LagrangianFunction function(rows, target, domain);
  const double slack = target * (1 + kBoundRounding) - function.value(multipliers, budget);
  std::vector<std::uint32_t> removed;
  const ChoiceModel& model = rows.model();
  for (std::size_t group = 0; group < function.groups().size(); ++group) {
    const EqualTables& equal = function.groups()[group];
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t choice : function.possible(group))
      least = std::min(least, function.cost_of(choice, multipliers));
    for (const std::uint32_t choice : function.possible(group)) {
      if (function.cost_of(choice, multipliers) - least <= slack) continue;
      for (const std::uint32_t table : equal.tables)
        removed.push_back(model.first_choice(table) + choice - model.first_choice(equal.first()));
    }
  }
  for (const std::uint32_t choice : removed)
    domain[choice] = 0;
  return !removed.empty();
}

}  // namespace

DomainReduction reduce_domain(const BoundRows& rows, double target, Domain& domain,
                              const AggregateParameters& parameters, Budget& budget) {
  DomainReduction result;
  CommonLoad common(rows, target, domain);
  common.reduce(budget);
  for (std::uint32_t round = 0;; ++round) {
    AggregateBound found = aggregate_bound(rows, target, domain, parameters, budget);
    result.multipliers = std::move(found.multipliers);
    result.bound = found.bound;
    result.excluded = found.bound > target * (1 + kBoundRounding);
    if (result.excluded || budget.interrupted() || round == parameters.max_reductions ||
        !fix_by_reduced_costs(rows, target, result.multipliers, domain, budget)) {
      result.plan.shares = std::move(found.shares);
      return result;
    }
    result.fixing.push_back(result.multipliers);
    common.reduce(budget);
  }
}

void fix_choices(const BoundRows& rows, double target, const MultiplierList& fixing, Domain& domain,
                 Budget& budget) {
  CommonLoad common(rows, target, domain);
  common.reduce(budget);
  for (const std::vector<CapacityMultipliers>& multipliers : fixing) {
    fix_by_reduced_costs(rows, target, multipliers, domain, budget);
    common.reduce(budget);
  }
}

}  // namespace shardwright::embedding
