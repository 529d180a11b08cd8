#include "search/embedding/best/bound/branching.h"

#include <algorithm>
#include <cmath>

namespace shardwright::embedding {

Branching::Branching(const BoundRows& rows, const BranchingParameters& parameters)
    : rows_(&rows), parameters_(parameters) {
  for (const RankClass& own : rows.classes().all()) {
    num_ranks_ += own.size;
    total_hbm_ += own.size * std::max(1.0, static_cast<double>(own.room.hbm.value()));
  }
}

std::optional<Branch> Branching::choose(const Domain& domain, const FractionalPlan& plan,
                                        double target) const {
  const std::size_t num_tables = rows_->model().num_tables();
  Branch best;
  best.width = parameters_.min_width;
  for (std::size_t table = 0; table < num_tables; ++table) {
    for (const bool by_memory : {false, true}) {
      Branch branch = by_choices(table, by_memory, domain, plan.shares, target);
      if (branch.width > best.width) best = std::move(branch);
    }
  }
  for (std::size_t table = 0; best.first_child.empty() && table < num_tables; ++table) {
    Branch branch = by_places(table, domain, plan, target);
    if (branch.width > best.width) best = std::move(branch);
  }
  return best.first_child.empty() ? std::nullopt : std::optional(std::move(best));
}

Branch Branching::by_choices(std::size_t table, bool by_memory, const Domain& domain,
                             const std::vector<double>& shares, double target) const {
  const ChoiceModel& model = rows_->model();
  const auto size = [&](std::uint32_t choice) {
    const Choice& own = model.choices()[choice];
    return by_memory ? static_cast<double>(own.hbm_bytes) / total_hbm_
                     : own.load / (target * num_ranks_);
  };
  Branch branch;
  branch.table = table;
  double mean = 0;
  const std::uint32_t begin = model.first_choice(table);
  const auto end = static_cast<std::uint32_t>(begin + model.choices(table).size());
  for (std::uint32_t choice = begin; choice < end; ++choice)
    mean += shares[choice] * size(choice);
  bool any_above = false;
  for (std::uint32_t choice = begin; choice < end; ++choice) {
    if (domain[choice] == 0) continue;
    branch.width += shares[choice] * std::abs(size(choice) - mean);
    if (size(choice) <= mean) branch.first_child.emplace_back(choice, domain[choice]);
    any_above = any_above || size(choice) > mean;
  }
  if (!any_above || branch.first_child.empty()) branch.width = 0;
  return branch;
}

double Branching::load_at(std::uint32_t choice, ClassSet place, const FractionalPlan& plan) const {
  double load = 0;
  for (std::uint32_t r = rows_->first_row(choice); r < rows_->first_row(choice + 1); ++r) {
    for (std::uint32_t c = 0; c < rows_->classes().size(); ++c) {
      if ((place >> c & 1) != 0) load += plan.shards[r][c] * rows_->rows()[r].load;
    }
  }
  return load;
}

Branch Branching::by_places(std::size_t table, const Domain& domain, const FractionalPlan& plan,
                            double target) const {
  const ChoiceModel& model = rows_->model();
  Branch branch;
  branch.table = table;
  const std::uint32_t begin = model.first_choice(table);
  for (std::uint32_t choice = begin; choice < begin + model.choices(table).size(); ++choice) {
    if (plan.shares[choice] < parameters_.min_share) continue;
    double all = 0;
    double most = 0;
    ClassSet fullest = 0;
    for (const ClassSet place : rows_->places(choice)) {
      if ((place & domain[choice]) == 0) continue;
      const double here = load_at(choice, place, plan);
      all += here;
      if (here > most || fullest == 0) {
        most = std::max(most, here);
        fullest = place;
      }
    }
    if (fullest == 0 || (domain[choice] & ~fullest) == 0) continue;
    branch.width = (all - most + parameters_.whole_width * all) / (target * num_ranks_);
    branch.first_child.assign(1, {choice, fullest});
    return branch;
  }
  return branch;
}

}  // namespace shardwright::embedding
