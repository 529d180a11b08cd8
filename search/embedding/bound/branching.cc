#include "search/embedding/bound/branching.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardwright::embedding {
namespace {

// Sorts the tables by TableId, whose order may differ from that of the model, and rewrites
// first_child for the new first table.
Branch by_identifier(const ChoiceModel& model, Branch branch) {
  const std::uint32_t before = model.first_choice(branch.tables.front());
  std::sort(branch.tables.begin(), branch.tables.end(), [&](std::uint32_t a, std::uint32_t b) {
    return model.table(a).index() < model.table(b).index();
  });
  for (auto& [choice, classes] : branch.first_child)
    choice = model.first_choice(branch.tables.front()) + choice - before;
  return branch;
}

}  // namespace

void restrict_to_child(const ChoiceModel& model, const Branch& branch, bool first, Domain& domain) {
  // In the first child, the first `count` tables keep only the listed choices and classes. In the
  // second child, all tables but the first `count` - 1 keep only the others.
  const std::size_t begin = first ? 0 : branch.count - 1;
  const std::size_t end = first ? branch.count : branch.tables.size();
  const std::uint32_t of_first = model.first_choice(branch.tables.front());
  std::vector<ClassSet> kept;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t table = branch.tables[i];
    const std::uint32_t own = model.first_choice(table);
    kept.assign(model.choices(table).size(), 0);
    for (const auto& [choice, classes] : branch.first_child)
      kept[choice - of_first] = classes;
    for (std::uint32_t n = 0; n < kept.size(); ++n)
      domain[own + n] &= first ? kept[n] : ~kept[n];
  }
}

Branching::Branching(const BoundRows& rows, const BranchingParameters& parameters)
    : rows_(&rows), parameters_(parameters) {
  for (const RankClass& rank_class : rows.classes().all()) {
    num_ranks_ += rank_class.size;
    total_hbm_ += rank_class.size * std::max(1.0, static_cast<double>(rank_class.room.hbm.value()));
  }
}

std::optional<Branch> Branching::choose(const Domain& domain,
                                        const std::vector<EqualTables>& groups,
                                        const FractionalPlan& plan, double target) const {
  Branch best;
  const auto keep_wider = [&](Branch branch) {
    if (branch.width > best.width) best = std::move(branch);
  };
  for (const bool whole : {false, true}) {
    for (const EqualTables& group : groups) {
      for (const bool by_memory : {false, true})
        keep_wider(by_choices(group, by_memory, whole, domain, plan, target,
                              BranchingParameters::kMinSeparation));
    }
    if (!best.first_child.empty()) return by_identifier(rows_->model(), std::move(best));
  }
  for (const EqualTables& group : groups)
    keep_wider(by_places(group, domain, plan, target));
  if (best.first_child.empty()) return std::nullopt;
  return by_identifier(rows_->model(), std::move(best));
}

std::optional<Branch> Branching::choose_large(const Domain& domain,
                                              const std::vector<EqualTables>& groups,
                                              const FractionalPlan& plan, double target,
                                              double least) const {
  Branch best;
  for (const EqualTables& group : groups) {
    for (const bool by_memory : {false, true}) {
      Branch branch = by_choices(group, by_memory, false, domain, plan, target, least);
      if (branch.width > best.width) best = std::move(branch);
    }
  }
  if (best.first_child.empty()) return std::nullopt;
  return by_identifier(rows_->model(), std::move(best));
}

// The load or HBM of a choice as a fraction of the load or HBM that all ranks can hold.
double Branching::size_of(std::uint32_t choice, bool by_memory, double target) const {
  const Choice& own = rows_->model().choices()[choice];
  return by_memory ? static_cast<double>(own.storage.hbm.value()) / total_hbm_
                   : own.load / (target * num_ranks_);
}

std::optional<Branch> Branching::choose_widest_gap(const Domain& domain,
                                                   const std::vector<EqualTables>& groups,
                                                   double target, double least) const {
  const ChoiceModel& model = rows_->model();
  Branch best;
  best.width = least;
  std::vector<std::pair<double, std::uint32_t>> open;  // size and choice
  for (const EqualTables& group : groups) {
    for (const bool by_memory : {false, true}) {
      open.clear();
      const std::uint32_t begin = model.first_choice(group.first());
      for (std::uint32_t i = 0; i < model.choices(group.first()).size(); ++i) {
        if (domain[begin + i] != 0)
          open.emplace_back(size_of(begin + i, by_memory, target), begin + i);
      }
      std::sort(open.begin(), open.end());
      for (std::size_t i = 1; i < open.size(); ++i) {
        const double gap = open[i].first - open[i - 1].first;
        if (gap <= best.width) continue;
        best.width = gap;
        best.tables = group.tables;
        best.first_child.clear();
        for (std::size_t n = 0; n < i; ++n)
          best.first_child.emplace_back(open[n].second, domain[open[n].second]);
      }
    }
  }
  if (best.first_child.empty()) return std::nullopt;
  return by_identifier(model, std::move(best));
}

// The fractional number of tables of the group that take `choice`, a choice of the first table.
double Branching::number_of(const EqualTables& group, std::uint32_t choice,
                            const FractionalPlan& plan) const {
  const ChoiceModel& model = rows_->model();
  const std::uint32_t i = choice - model.first_choice(group.first());
  double number = 0;
  for (const std::uint32_t table : group.tables)
    number += plan.shares[model.first_choice(table) + i];
  return number;
}

// Returns the widest branch between the smaller and the larger choices of the group. The number of
// tables with smaller choices is whole if `whole`, else fractional.
Branch Branching::by_choices(const EqualTables& group, bool by_memory, bool whole,
                             const Domain& domain, const FractionalPlan& plan, double target,
                             double min_separation) const {
  struct Part {
    std::uint32_t choice;
    double size;
    double number;
  };
  const ChoiceModel& model = rows_->model();
  std::vector<Part> parts;
  double total = 0;
  const std::uint32_t begin = model.first_choice(group.first());
  for (std::uint32_t i = 0; i < model.choices(group.first()).size(); ++i) {
    if (domain[begin + i] == 0) continue;
    const double size = size_of(begin + i, by_memory, target);
    parts.push_back({begin + i, size, number_of(group, begin + i, plan)});
    total += parts.back().number * size;
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.size != b.size ? a.size < b.size : a.choice < b.choice;
  });
  Branch branch;
  std::size_t first_part = 0;  // the number of parts in the first child
  double number = 0;
  double size = 0;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    number += parts[i].number;
    size += parts[i].number * parts[i].size;
    const double least = BranchingParameters::kMinPart;
    const double count = std::ceil(number - least);
    const double part = std::max(0.0, count - number);
    if (number < least || number > group.size() - least || (part < least) != whole ||
        parts[i + 1].size <= parts[i].size)
      continue;
    const double mean_below = size / number;
    const double mean_above = (total - size) / (group.size() - number);
    const double separated = mean_above - mean_below;
    const double width = (whole ? BranchingParameters::kWholeWidth : std::min(part, 1 - part)) *
                         std::pow(separated, BranchingParameters::kSizeExponent);
    if (separated <= min_separation || width <= branch.width) continue;
    branch.width = width;
    branch.count = static_cast<std::uint32_t>(count);
    first_part = i + 1;
  }
  if (first_part == 0) return branch;
  branch.tables = group.tables;
  for (std::size_t i = 0; i < first_part; ++i)
    branch.first_child.emplace_back(parts[i].choice, domain[parts[i].choice]);
  return branch;
}

// The load that the fractional plan puts in this place for a choice of the group's tables. It may
// exceed the load of the tables' shards.
double Branching::load_at(const EqualTables& group, std::uint32_t choice, ClassSet place,
                          const FractionalPlan& plan) const {
  const ChoiceModel& model = rows_->model();
  const std::uint32_t i = choice - model.first_choice(group.first());
  double load = 0;
  for (const std::uint32_t table : group.tables) {
    const std::uint32_t own = model.first_choice(table) + i;
    for (std::uint32_t r = rows_->first_row(own); r < rows_->first_row(own + 1); ++r) {
      for (std::uint32_t c = 0; c < rows_->classes().size(); ++c) {
        if ((place >> c & 1) != 0) load += plan.shards[r][c] * rows_->rows()[r].load;
      }
    }
  }
  return load;
}

Branch Branching::by_places(const EqualTables& group, const Domain& domain,
                            const FractionalPlan& plan, double target) const {
  const ChoiceModel& model = rows_->model();
  Branch branch;
  const std::uint32_t begin = model.first_choice(group.first());
  for (std::uint32_t choice = begin; choice < begin + model.choices(group.first()).size();
       ++choice) {
    const double number = number_of(group, choice, plan);
    if (number < parameters_.min_share) continue;
    double load = 0;
    for (const ClassSet place : rows_->places(choice))
      load += load_at(group, choice, place, plan);
    for (const ClassSet place : rows_->places(choice)) {
      if ((place & domain[choice]) == 0 || (domain[choice] & ~place) == 0) continue;
      if (load <= 0) continue;
      const double here = number * load_at(group, choice, place, plan) / load;
      const double rounded = std::round(here);
      const double part = std::abs(here - rounded);
      // A whole number gives a very narrow branch, which is the last resort.
      const bool is_whole = part < BranchingParameters::kMinPart;
      if (is_whole && rounded == 0) continue;
      const double width = (is_whole ? BranchingParameters::kWholeWidth : part) *
                           model.choices()[choice].load / (target * num_ranks_);
      const double count = is_whole ? rounded : std::floor(here) + 1;
      if (width <= branch.width || count > group.size()) continue;
      branch.width = width;
      branch.tables = group.tables;
      branch.count = static_cast<std::uint32_t>(count);
      branch.first_child.assign(1, {choice, place});
    }
  }
  return branch;
}

}  // namespace shardwright::embedding
