#include "search/embedding/bound/aggregate_bound.h"

#include <algorithm>
#include <limits>

#include "search/linear_program.h"

namespace shardwright::embedding {
namespace {

double cost_at(const CapacityMultipliers& multipliers, const BoundRow& row) {
  return add_priced(multipliers.load * row.load, multipliers, row.bytes);
}

}  // namespace

LagrangianFunction::LagrangianFunction(const BoundRows& rows, double target, const Domain& domain)
    : rows_(rows),
      classes_(rows.classes()),
      domain_(domain),
      target_(target),
      groups_(rows.kinds().groups(domain)) {
  const ChoiceModel& model = rows.model();
  begin_.reserve(groups_.size() + 1);
  for (const EqualTables& group : groups_) {
    for (std::uint32_t i = 0; i < model.choices(group.first()).size(); ++i) {
      const std::uint32_t choice = model.first_choice(group.first()) + i;
      if (domain[choice] != 0 && rows.is_possible(choice, target)) possible_.push_back(choice);
    }
    begin_.push_back(possible_.size());
  }
}

bool LagrangianFunction::every_table_is_possible() const {
  return std::adjacent_find(begin_.begin(), begin_.end()) == begin_.end();
}

double LagrangianFunction::value(const std::vector<CapacityMultipliers>& multipliers,
                                 Budget& budget) {
  use_.assign(classes_.size(), {});
  cheapest_.clear();
  double sum = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::span<const std::uint32_t> choices = possible(group);
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t cheapest = 0;
    for (const std::uint32_t choice : choices) {
      const double cost = cost_of(choice, multipliers);
      if (cost < least) {
        least = cost;
        cheapest = choice;
      }
    }
    sum += groups_[group].size() * least;
    take(cheapest, groups_[group].size(), multipliers);
    cheapest_.push_back(cheapest);
    budget.spend(choices.size());
  }
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const RankClass& rank_class = classes_[c];
    sum -= rank_class.size * add_priced(0, multipliers[c], as_doubles(rank_class.room));
  }
  return sum;
}

double LagrangianFunction::cost_of(std::uint32_t choice,
                                   const std::vector<CapacityMultipliers>& multipliers) const {
  double sum = 0;
  for (const BoundRow& row : rows_.rows_of(choice))
    sum += row.need * cost_at(multipliers[cheapest_class(row, multipliers)], row);
  return sum;
}

std::uint32_t LagrangianFunction::cheapest_class(
    const BoundRow& row, const std::vector<CapacityMultipliers>& multipliers) const {
  if (row.in_class) return row.run;
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t c = 0; c < classes_.size(); ++c) {
    const bool here = rows_.fits(row, c) && row.load < classes_.load_limit(c, target_) &&
                      (domain_[row.choice] >> c & 1) != 0;
    const double cost = here ? cost_at(multipliers[c], row) : least;
    if (cost < least) {
      least = cost;
      best = c;
    }
  }
  return best;
}

void LagrangianFunction::take(std::uint32_t choice, std::uint32_t tables,
                              const std::vector<CapacityMultipliers>& multipliers) {
  for (const BoundRow& row : rows_.rows_of(choice)) {
    ClassUse& class_use = use_[cheapest_class(row, multipliers)];
    const double shards = static_cast<double>(tables) * row.need;
    class_use.load += shards * row.load;
    for (const MemoryTier tier : kMemoryTiers)
      class_use.bytes[tier] += shards * row.bytes[tier];
  }
}

namespace {

// The dual of the cutting-plane program. A column per cut has the share of the cut's choices in a
// fractional plan. Each class has a row for load and a row per memory tier, whose dual values are
// the multipliers. Bytes are scaled by target / room, so that all multipliers are of one magnitude.
// Thread safety: one thread at a time.
class CutProgram {
 public:
  CutProgram(const RankClasses& classes, std::span<const MemoryTier> tiers, double target,
             double max_multiplier)
      : classes_(classes), tiers_(tiers), target_(target) {
    for (std::size_t row = 0; row < row_of_load(classes.size()); ++row)
      program_.add_row(-LinearProgram::kInfinity, 0);
    program_.add_row(1, 1);
    std::vector<LinearProgram::Entry> rating;
    for (std::size_t c = 0; c < classes.size(); ++c)
      rating.push_back({row_of_load(c), -(classes[c].size / classes[c].time_scale)});
    program_.add_column(1, 0, LinearProgram::kInfinity, rating);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (std::size_t t = 1; t <= tiers.size(); ++t) {
        const LinearProgram::Entry entry{row_of_load(c) + t, -1};
        program_.add_column(max_multiplier, 0, LinearProgram::kInfinity, {&entry, 1});
      }
    }
  }

  // `choices`: for every group, the cheapest choice of its first table.
  void add_cut(const std::vector<ClassUse>& use, const std::vector<std::uint32_t>& choices) {
    choices_.push_back(choices);
    std::vector<LinearProgram::Entry> entries;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const RankClass& rank_class = classes_[c];
      entries.push_back({row_of_load(c), use[c].load});
      for (const MemoryTier tier : tiers_) {
        const double room = static_cast<double>(rank_class.room[tier].value());
        const double over = use[c].bytes[tier] - rank_class.size * room;
        entries.push_back({entries.back().row + 1, over * unit(rank_class.room[tier])});
      }
    }
    entries.push_back({row_of_load(classes_.size()), 1});
    program_.add_column(0, 0, LinearProgram::kInfinity, entries);
  }

  bool solve() { return program_.solve(); }
  // Returns the share of every choice in the last solution.
  std::vector<double> shares(const ChoiceModel& model,
                             const std::vector<EqualTables>& groups) const {
    std::vector<double> shares(model.choices().size(), 0);
    const std::size_t first = 1 + tiers_.size() * classes_.size();
    for (std::size_t cut = 0; cut < choices_.size(); ++cut) {
      const double part = program_.value(first + cut);
      for (std::size_t group = 0; group < groups.size() && part > 0; ++group) {
        const std::uint32_t own = choices_[cut][group] - model.first_choice(groups[group].first());
        for (const std::uint32_t table : groups[group].tables)
          shares[model.first_choice(table) + own] += part;
      }
    }
    return shares;
  }
  // An upper bound of the Lagrangian bound at any multipliers.
  double max_bound() const { return program_.objective(); }

  std::vector<CapacityMultipliers> multipliers() const {
    std::vector<CapacityMultipliers> multipliers;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const RankClass& own = classes_[c];
      const auto dual = [&](std::size_t row) { return std::max(0.0, -program_.dual(row)); };
      std::size_t row = row_of_load(c);
      CapacityMultipliers& of_class = multipliers.emplace_back();
      of_class.load = dual(row);
      for (const MemoryTier tier : tiers_)
        of_class[tier] = dual(++row) * unit(own.room[tier]);
    }
    // The multipliers of load must sum to at most 1; the solver meets the limit within a tolerance.
    double sum = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      sum += multipliers[c].load * classes_[c].size / classes_[c].time_scale;
    for (CapacityMultipliers& own : multipliers) {
      if (sum > 1) own = {own.load / sum, own.hbm / sum, own.ddr / sum, own.ssd / sum};
    }
    return multipliers;
  }

 private:
  std::size_t row_of_load(std::size_t rank_class) const { return (1 + tiers_.size()) * rank_class; }
  double unit(Bytes room) const {
    return target_ / static_cast<double>(std::max<std::int64_t>(1, room.value()));
  }

  const RankClasses& classes_;
  std::span<const MemoryTier> tiers_;
  double target_;
  LinearProgram program_;
  std::vector<std::vector<std::uint32_t>> choices_;  // of every cut, by group
};

// Returns multipliers that price only load, and equally on all ranks.
std::vector<CapacityMultipliers> even_multipliers(const RankClasses& classes) {
  double ranks = 0;
  for (const RankClass& own : classes.all())
    ranks += own.size / own.time_scale;
  return std::vector<CapacityMultipliers>(classes.size(), CapacityMultipliers{1 / ranks, 0, 0});
}

}  // namespace

AggregateBound aggregate_bound(const BoundRows& rows, double target, const Domain& domain,
                               const AggregateParameters& parameters, Budget& budget) {
  budget.spend(TableKinds::steps_to_group(domain));
  LagrangianFunction function(rows, target, domain);
  AggregateBound best;
  best.multipliers = even_multipliers(rows.classes());
  if (!function.every_table_is_possible()) {
    best.bound = std::numeric_limits<double>::infinity();
    return best;
  }
  std::vector<CapacityMultipliers> multipliers = best.multipliers;
  budget.spend(AggregateParameters::kNewProgramSteps);
  CutProgram cuts(rows.classes(), rows.model().tiers(), target, parameters.max_multiplier);
  bool is_solved = false;
  for (std::uint32_t round = 0; round < AggregateParameters::kMaxRounds && !budget.interrupted();
       ++round) {
    const double value = function.value(multipliers, budget);
    if (value > best.bound) {
      best.bound = value;
      best.multipliers = multipliers;
    }
    cuts.add_cut(function.use(), function.cheapest());
    budget.spend(AggregateParameters::kProgramSteps);
    is_solved = cuts.solve();
    if (!is_solved || cuts.max_bound() - best.bound <= parameters.gap * cuts.max_bound()) break;
    multipliers = cuts.multipliers();
  }
  if (is_solved) best.shares = cuts.shares(rows.model(), function.groups());
  return best;
}

}  // namespace shardwright::embedding
