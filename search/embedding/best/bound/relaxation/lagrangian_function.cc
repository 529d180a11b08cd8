#include "search/embedding/best/bound/relaxation/lagrangian_function.h"

#include <algorithm>
#include <limits>

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
    const RankClass& own = classes_[c];
    sum -= own.size * add_priced(0, multipliers[c], as_doubles(own.room));
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
    ClassUse& own = use_[cheapest_class(row, multipliers)];
    const double shards = static_cast<double>(tables) * row.need;
    own.load += shards * row.load;
    for (const MemoryTier tier : kMemoryTiers)
      own.bytes[tier] += shards * row.bytes[tier];
  }
}

}  // namespace shardwright::embedding
