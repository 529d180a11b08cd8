#include "search/embedding/best/bound/ranks/rank_program.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardwright::embedding {

RankProgram::RankProgram(const RankModel& model, const RankDomain& root,
                         const BoundParameters& parameters, Budget& budget)
    : model_(model),
      parameters_(parameters),
      program_(LinearProgram::Scaling::kNone),
      choices_(model.choices().size()) {
  add_rows(root);
  add_slack();
  for (std::uint32_t c = 0; c < choices_.size(); ++c) {
    if (root[c].may != 0) add_columns(c);
  }
  program_.solve();
  spend(program_.iterations(), budget);
}

// The places of shards are variables of their own.
bool RankProgram::needs_links(const RankChoice& choice) const {
  return choice.reach != Reach::kAllRanks && choice.num_parts > 1;
}

// Where one part of the choice may be.
std::vector<ClassSet> RankProgram::places_of(const RankChoice& choice) const {
  if (choice.reach == Reach::kAllRanks) return {model_.everywhere()};
  if (choice.reach == Reach::kWholeHosts) return {model_.hosts().begin(), model_.hosts().end()};
  std::vector<ClassSet> places;
  for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank)
    places.push_back(ClassSet{1} << rank);
  return places;
}

void RankProgram::add_rows(const RankDomain& root) {
  for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank) {
    program_.add_row(-LinearProgram::kInfinity, 0);
    for (std::size_t tier = 0; tier < model_.tiers().size(); ++tier)
      program_.add_row(-LinearProgram::kInfinity, 1);
  }
  for (std::size_t table = 0; table < model_.num_tables(); ++table)
    program_.add_row(1, 1);
  for (std::size_t c = 0; c < choices_.size(); ++c) {
    const RankChoice& choice = model_.choices()[c];
    if (root[c].may == 0 || !needs_links(choice)) continue;
    const std::size_t hosts = choice.reach == Reach::kHost ? model_.hosts().size() : 1;
    for (std::size_t i = 0; i < hosts * choice.num_runs; ++i)
      choices_[c].links.push_back(program_.add_row(0, 0));
    for (const ClassSet place : places_of(choice)) {
      choices_[c].held.push_back(
          {program_.add_row(-LinearProgram::kInfinity, LinearProgram::kInfinity), place});
    }
  }
}

// The rating, in units of the target, and memory beyond that of the ranks: with a dear price, so
// that there is a solution and multipliers.
void RankProgram::add_slack() {
  std::vector<LinearProgram::Entry> rating;
  for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank)
    rating.push_back({row_of_load(rank), -1 / model_.rank(rank).time_scale});
  program_.add_column(1, 0, LinearProgram::kInfinity, rating);
  for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank) {
    for (std::size_t tier = 1; tier <= model_.tiers().size(); ++tier) {
      const LinearProgram::Entry entry{row_of_load(rank) + tier, -1};
      program_.add_column(parameters_.aggregate.max_multiplier, 0, LinearProgram::kInfinity,
                          {&entry, 1});
    }
  }
}

void RankProgram::add_columns(std::uint32_t c) {
  const RankChoice& choice = model_.choices()[c];
  if (needs_links(choice)) return add_linked_columns(c);
  for (const ClassSet place : places_of(choice)) {
    std::vector<LinearProgram::Entry> entries = add_extras(c, place);
    entries.push_back({row_of_table(choice.table), 1});
    add_column(c, {0, place}, std::move(entries), &model_.shards(choice)[0]);
  }
}

// The ranks of this place where larger shards are. Returns how many the share of the choice there
// has, by row.
std::vector<LinearProgram::Entry> RankProgram::add_extras(std::uint32_t c, ClassSet place) {
  const RankChoice& choice = model_.choices()[c];
  std::vector<LinearProgram::Entry> of_share;
  for (const RankShards& extra : model_.extras(choice)) {
    const std::size_t row = program_.add_row(0, 0);
    of_share.push_back({row, -static_cast<double>(extra.count)});
    for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank) {
      const ClassSet bit = ClassSet{1} << rank;
      const double most = choice.num_parts == 1 ? 1 : extra.count;
      if ((place & bit) != 0) add_column(c, {0, bit, most, false, true, true}, {{row, 1}}, &extra);
    }
  }
  return of_share;
}

void RankProgram::add_linked_columns(std::uint32_t c) {
  const RankChoice& choice = model_.choices()[c];
  const OfChoice& own = choices_[c];
  const std::span<const RankShards> shards = model_.shards(choice);
  std::vector<ClassSet> hosts{model_.everywhere()};
  if (choice.reach == Reach::kHost) hosts.assign(model_.hosts().begin(), model_.hosts().end());
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    std::vector<LinearProgram::Entry> entries = add_extras(c, hosts[h]);
    entries.push_back({row_of_table(choice.table), 1});
    for (std::size_t run = 0; run < shards.size(); ++run) {
      entries.push_back(
          {own.links[h * shards.size() + run], -static_cast<double>(shards[run].count)});
    }
    for (const HeldRow& held : own.held) {
      if ((held.place & hosts[h]) != 0) entries.push_back({held.row, -1});
    }
    add_column(c, {0, hosts[h], 1, true, false}, std::move(entries), nullptr);
    for (std::size_t run = 0; run < shards.size(); ++run) {
      for (const HeldRow& held : own.held) {
        if ((held.place & hosts[h]) == 0) continue;
        const auto most = static_cast<double>(shards[run].count);
        add_column(c, {0, held.place, most, false, true},
                   {{own.links[h * shards.size() + run], 1}, {held.row, 1}}, &shards[run]);
      }
    }
  }
}

// With the load and the memory of a shard on every rank of its place, if it has any.
void RankProgram::add_column(std::uint32_t choice, Column column,
                             std::vector<LinearProgram::Entry> entries, const RankShards* shards) {
  for (std::size_t rank = 0; rank < model_.num_ranks() && shards != nullptr; ++rank) {
    if (!has_rank(column.place, rank)) continue;
    if (!has_rank(shards->ranks, rank)) return;
    if (shards->load != 0) entries.push_back({row_of_load(rank), shards->load / model_.target()});
    for (std::size_t i = 0; i < model_.tiers().size(); ++i) {
      const MemoryTier tier = model_.tiers()[i];
      const double part = shards->bytes[tier] / std::max(1.0, model_.rank(rank).room[tier]);
      if (part != 0) entries.push_back({row_of_load(rank) + 1 + i, part});
    }
  }
  column.index = program_.add_column(0, 0, column.most, entries);
  choices_[choice].columns.push_back(column);
}

bool RankProgram::is_open(const RankChoice& choice, const Column& column,
                          const RankPlaces& own) const {
  if (own.may == 0) return false;
  // A share on a host: all that is held must be there.
  const bool is_elsewhere = column.is_share && (own.held & ~column.place) != 0;
  if (!column.has_shards || choice.reach == Reach::kAllRanks) return !is_elsewhere;
  return !is_elsewhere && (column.place & ~own.may) == 0;
}

bool RankProgram::solve(const RankDomain& domain, Budget& budget) {
  for (std::size_t c = 0; c < choices_.size(); ++c) {
    for (Column& column : choices_[c].columns) {
      const bool is_on = is_open(model_.choices()[c], column, domain[c]);
      if (is_on == column.is_on) continue;
      column.is_on = is_on;
      program_.set_column_bounds(column.index, 0, is_on ? column.most : 0);
    }
    for (HeldRow& held : choices_[c].held) {
      const bool is_on = (domain[c].held & held.place) != 0;
      if (is_on == held.is_on) continue;
      held.is_on = is_on;
      program_.set_row_bounds(held.row, is_on ? 0 : -LinearProgram::kInfinity,
                              LinearProgram::kInfinity);
    }
  }
  const std::size_t before = program_.iterations();
  const bool is_solved = program_.solve_again();
  spend(program_.iterations() - before, budget);
  return is_solved;
}

void RankProgram::spend(std::size_t pivots, Budget& budget) const {
  const auto size = static_cast<double>(program_.num_rows() + program_.num_columns());
  const auto sized = [&](double steps) { return static_cast<std::uint64_t>(steps * size); };
  budget.spend(parameters_.ranks.solve_steps + sized(parameters_.ranks.solve_size_steps));
  budget.spend(pivots *
               (parameters_.ranks.pivot_steps + sized(parameters_.ranks.pivot_size_steps)));
}

std::vector<CapacityMultipliers> RankProgram::multipliers() const {
  std::vector<CapacityMultipliers> multipliers;
  double sum = 0;
  for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank) {
    std::size_t row = row_of_load(rank);
    CapacityMultipliers& own = multipliers.emplace_back();
    own.load = std::max(0.0, -program_.dual(row));
    sum += own.load / model_.rank(rank).time_scale;
    for (const MemoryTier tier : model_.tiers()) {
      own[tier] = std::max(0.0, -program_.dual(++row)) * model_.target() /
                  std::max(1.0, model_.rank(rank).room[tier]);
    }
  }
  // Those of load may sum to 1 at most; the solver keeps to that within a tolerance.
  for (CapacityMultipliers& own : multipliers) {
    if (sum > 1) own = {own.load / sum, own.hbm / sum, own.ddr / sum, own.ssd / sum};
  }
  return multipliers;
}

double RankProgram::share(std::uint32_t choice) const {
  double share = 0;
  for (const Column& column : choices_[choice].columns)
    share += column.is_share && column.is_on ? program_.value(column.index) : 0;
  return share;
}

std::vector<double> RankProgram::on_ranks(std::uint32_t choice) const {
  std::vector<double> on(model_.num_ranks(), 0);
  for (const Column& column : choices_[choice].columns) {
    if (!column.has_shards || column.is_extra || !column.is_on) continue;
    const double value = program_.value(column.index);
    for (std::size_t rank = 0; rank < on.size() && value > 0; ++rank)
      on[rank] += has_rank(column.place, rank) ? value : 0;
  }
  const double most = share(choice);
  for (double& own : on)
    own = std::min(own, most);
  return on;
}

bool RankProgram::is_whole() const {
  return std::all_of(choices_.begin(), choices_.end(), [&](const OfChoice& choice) {
    return std::all_of(choice.columns.begin(), choice.columns.end(), [&](const Column& column) {
      const double value = program_.value(column.index);
      return std::abs(value - std::round(value)) <= kWholeTolerance;
    });
  });
}

}  // namespace shardwright::embedding
