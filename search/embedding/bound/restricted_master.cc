#include "search/embedding/bound/restricted_master.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace shardwright::embedding {
namespace {

// Calls change(a, b) for every multiplier a of `multipliers` and the same multiplier b of `other`.
template <class Change>
void change_each(std::vector<CapacityMultipliers>& multipliers,
                 const std::vector<CapacityMultipliers>& other, const Change& change) {
  for (std::size_t c = 0; c < multipliers.size(); ++c) {
    change(multipliers[c].load, other[c].load);
    for (const MemoryTier tier : kMemoryTiers)
      change(multipliers[c][tier], other[c][tier]);
  }
}

double room_of(const RankClass& rank_class, MemoryTier tier) {
  return std::max(1.0, static_cast<double>(rank_class.room[tier].value()));
}

}  // namespace

void DualCenter::offer(const DualPoint& point, double tables, double ranks,
                       std::vector<double> most) {
  if (!(ranks > 0) || !(tables / ranks > ratio_)) return;
  ratio_ = tables / ranks;
  point_.shards = point.shards;
  point_.ranks = std::move(most);
  point_.whole = point.whole;
  for (std::vector<double>* values : {&point_.shards, &point_.ranks}) {
    for (double& value : *values)
      value /= ranks;
  }
  change_each(point_.whole, point.whole, [&](double& value, double) { value /= ranks; });
}

DualPoint DualCenter::mix(const DualPoint& other, double share) const {
  DualPoint mixed = other;
  for (std::size_t i = 0; i < mixed.shards.size(); ++i)
    mixed.shards[i] += share * (point_.shards[i] - mixed.shards[i]);
  for (std::size_t i = 0; i < mixed.ranks.size(); ++i)
    mixed.ranks[i] += share * (point_.ranks[i] - mixed.ranks[i]);
  change_each(mixed.whole, point_.whole,
              [&](double& value, double center) { value += share * (center - value); });
  return mixed;
}

void DualCenter::end(std::span<const EqualTables> groups) {
  if (!is_rated()) return;
  const ChoiceModel& model = rows_->model();
  for (const EqualTables& group : groups) {
    const auto first = point_.shards.begin() + rows_->first_row(model.first_choice(group.first()));
    const auto end =
        point_.shards.begin() + rows_->first_row(model.first_choice(group.first() + 1));
    for (const std::uint32_t table : group.tables) {
      if (table == group.first()) continue;
      std::copy(first, end, point_.shards.begin() + rows_->first_row(model.first_choice(table)));
    }
  }
}

RestrictedMaster::RestrictedMaster(const BoundRows& rows, double target, const Domain& domain,
                                   const std::vector<EqualTables>& groups,
                                   const ColumnGenerationParameters& parameters)
    : rows_(rows), target_(target), domain_(domain), groups_(groups), parameters_(parameters) {
  for (const EqualTables& group : groups)
    group_row_.push_back(program_.add_row(group.size(), group.size()));
  for (const RankClass& rank_class : rows.classes().all())
    class_row_.push_back(program_.add_row(-LinearProgram::kInfinity, rank_class.size));
  first_tier_row_.assign(rows.classes().size(), kNone);
  for (std::uint32_t c = 0; c < rows.classes().size(); ++c) {
    if (!rows.classes().is_for_uniform(c)) continue;
    first_tier_row_[c] = program_.num_rows();
    for (std::size_t i = 0; i < rows.model().tiers().size(); ++i)
      program_.add_row(-LinearProgram::kInfinity, rows.classes()[c].size);
  }
  add_whole_rows();
  shard_row_.assign(rows.rows().size(), kNone);
  for (const EqualTables& group : groups) {
    for (const std::uint32_t choice : possible_choices(group)) {
      if (is_apart(choice)) continue;
      const std::uint32_t first = rows.first_row(choice);
      for (std::uint32_t r = first; r < rows.first_row(choice + 1); ++r) {
        // A pricing problem uses at most two rows of a choice; other rows have the dual value 0.
        if (rows.rows()[r].in_class || r < first + 2) shard_row_[r] = row_of_shard(rows.rows()[r]);
      }
    }
  }
  add_choice_columns();
  add_excess_column();
}

std::size_t RestrictedMaster::row_of_shard(const BoundRow& shard) {
  const auto add = [&] { return program_.add_row(0, LinearProgram::kInfinity); };
  if (!parameters_.shares_rows) return add();
  const auto [found, is_new] = equal_shards_.try_emplace({shard.load, shard.storage}, 0);
  if (is_new) found->second = add();
  return found->second;
}

// Adds a row for load and a row per memory tier, for the whole ranks of every class.
void RestrictedMaster::add_whole_rows() {
  for (std::uint32_t c = 0; c < rows_.classes().num_apart(); ++c) {
    first_whole_row_.push_back(program_.num_rows());
    for (std::size_t i = 0; i < 1 + rows_.model().tiers().size(); ++i)
      program_.add_row(-LinearProgram::kInfinity, rows_.classes()[c].size);
  }
}

// Adds entries for load and bytes in a class to the rows of the whole ranks of that class.
void RestrictedMaster::add_use_of_whole(double load, const PerTier<double>& bytes,
                                        std::uint32_t rank_class) {
  if (first_whole_row_.empty()) return;
  const std::uint32_t own = rows_.classes().whole_class(rank_class);
  const RankClass& whole = rows_.classes().whole(own);
  std::size_t row = first_whole_row_[own];
  if (load > 0) entries_.push_back({row, load * whole.time_scale / target_});
  for (const MemoryTier tier : rows_.model().tiers()) {
    ++row;
    if (bytes[tier] > 0) entries_.push_back({row, bytes[tier] / room_of(whole, tier)});
  }
}

// Returns the dual values of a whole rank, per unit of load and per byte.
CapacityMultipliers RestrictedMaster::whole_duals(std::uint32_t rank_class) const {
  const RankClass& whole = rows_.classes().whole(rank_class);
  const auto dual = [&](std::size_t row) { return std::max(0.0, -program_.dual(row)); };
  std::size_t row = first_whole_row_[rank_class];
  CapacityMultipliers duals;
  duals.load = dual(row) * whole.time_scale / target_;
  for (const MemoryTier tier : rows_.model().tiers())
    duals[tier] = dual(++row) / room_of(whole, tier);
  return duals;
}

// If the class is for uniform choices, calls visit(tier, row in program_) for every tier.
template <class Visit>
void RestrictedMaster::each_tier_row(std::uint32_t rank_class, const Visit& visit) const {
  if (first_tier_row_[rank_class] == kNone) return;
  std::size_t row = first_tier_row_[rank_class];
  for (const MemoryTier tier : rows_.model().tiers())
    visit(tier, row++);
}

bool RestrictedMaster::fits(const BoundRow& row, std::uint32_t rank_class) const {
  return rows_.fits(row, rank_class) && row.load <= rows_.classes().load_limit(rank_class, target_);
}

// Adds entries for the load and memory of the row's shards, as fractions of a rank's capacity.
void RestrictedMaster::add_use(const BoundRow& row, std::uint32_t rank_class) {
  const double limit = rows_.classes().load_limit(rank_class, target_);
  entries_.push_back({class_row_[rank_class], row.need * row.load / limit});
  each_tier_row(rank_class, [&](MemoryTier tier, std::size_t tier_row) {
    const double room = room_of(rows_.classes()[rank_class], tier);
    if (row.bytes[tier] > 0) entries_.push_back({tier_row, row.need * row.bytes[tier] / room});
  });
  PerTier<double> bytes = row.bytes;
  for (const MemoryTier tier : kMemoryTiers)
    bytes[tier] *= row.need;
  add_use_of_whole(row.need * row.load, bytes, rank_class);
}

double RestrictedMaster::dual_of(const BoundRow& row, std::uint32_t rank_class,
                                 const CapacityMultipliers& whole) const {
  const double limit = rows_.classes().load_limit(rank_class, target_);
  double dual = row.load / limit * std::max(0.0, -program_.dual(class_row_[rank_class]));
  each_tier_row(rank_class, [&](MemoryTier tier, std::size_t tier_row) {
    const double room = room_of(rows_.classes()[rank_class], tier);
    if (row.bytes[tier] > 0)
      dual += row.bytes[tier] / room * std::max(0.0, -program_.dual(tier_row));
  });
  return dual + add_priced(whole.load * row.load, whole, row.bytes);
}

// Adds a column for a choice on all ranks, or a column per class for a choice that fills hosts.
void RestrictedMaster::add_uniform_columns(std::uint32_t choice, std::size_t group_row) {
  const std::span<const BoundRow> own = rows_.rows_of(choice);
  const auto add = [&](std::uint32_t rank_class) {
    uniform_columns_.push_back(
        {choice, rank_class, program_.add_column(0, 0, LinearProgram::kInfinity, entries_)});
  };
  if (own.front().in_class) {
    entries_.assign(1, {group_row, 1});
    for (const BoundRow& row : own) {
      if (!fits(row, row.run)) return;
      add_use(row, row.run);
    }
    return add(0);
  }
  for (std::uint32_t c = 0; c < rows_.classes().size(); ++c) {
    if ((domain_[choice] >> c & 1) == 0 || !fits(own.front(), c)) continue;
    entries_.assign(1, {group_row, 1});
    add_use(own.front(), c);
    add(c);
  }
}

std::vector<std::uint32_t> RestrictedMaster::possible_choices(const EqualTables& group) const {
  std::vector<std::uint32_t> possible;
  const ChoiceModel& model = rows_.model();
  for (std::uint32_t i = 0; i < model.choices(group.first()).size(); ++i) {
    const std::uint32_t choice = model.first_choice(group.first()) + i;
    if (domain_[choice] != 0) possible.push_back(choice);
  }
  return possible;
}

// Adds up entries of the same row, which several shards of a column may share.
void RestrictedMaster::merge_equal_rows() {
  if (!parameters_.shares_rows) return;
  std::sort(entries_.begin(), entries_.end(),
            [](const auto& a, const auto& b) { return a.row < b.row; });
  std::vector<LinearProgram::Entry> merged;
  for (const LinearProgram::Entry& own : entries_) {
    if (!merged.empty() && merged.back().row == own.row) {
      merged.back().value += own.value;
    } else {
      merged.push_back(own);
    }
  }
  entries_ = std::move(merged);
}

void RestrictedMaster::add_choice_columns() {
  choice_column_.assign(domain_.size(), kNone);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const std::uint32_t choice : possible_choices(groups_[g])) {
      if (is_apart(choice)) {
        add_uniform_columns(choice, group_row_[g]);
        continue;
      }
      entries_.assign(1, {group_row_[g], 1});
      for (std::uint32_t r = rows_.first_row(choice); r < rows_.first_row(choice + 1); ++r) {
        if (shard_row_[r] == kNone) continue;
        entries_.push_back({shard_row_[r], -static_cast<double>(rows_.rows()[r].need)});
      }
      merge_equal_rows();
      choice_column_[choice] = program_.add_column(0, 0, LinearProgram::kInfinity, entries_);
    }
  }
}

void RestrictedMaster::add_excess_column() {
  entries_.clear();
  for (std::uint32_t c = 0; c < class_row_.size(); ++c) {
    const double size = rows_.classes()[c].size;
    entries_.push_back({class_row_[c], -size});
    each_tier_row(c, [&](MemoryTier, std::size_t row) { entries_.push_back({row, -size}); });
    if (c >= first_whole_row_.size()) continue;
    for (std::size_t i = 0; i < 1 + rows_.model().tiers().size(); ++i)
      entries_.push_back({first_whole_row_[c] + i, -size});
  }
  program_.add_column(1, 0, LinearProgram::kInfinity, entries_);
}

std::size_t RestrictedMaster::add(const RankPattern& pattern) {
  entries_.clear();
  PerTier<double> bytes;
  for (const auto& [row, count] : pattern.shards) {
    if (shard_row_[row] != kNone) entries_.push_back({shard_row_[row], static_cast<double>(count)});
    for (const MemoryTier tier : kMemoryTiers)
      bytes[tier] += count * rows_.rows()[row].bytes[tier];
  }
  merge_equal_rows();
  entries_.push_back({class_row_[pattern.rank_class], 1});
  add_use_of_whole(pattern.load, bytes, pattern.rank_class);
  patterns_.emplace_back(pattern, program_.add_column(0, 0, LinearProgram::kInfinity, entries_));
  return patterns_.back().second;
}

std::vector<RankPattern> RestrictedMaster::take_patterns() {
  std::vector<RankPattern> taken;
  taken.reserve(patterns_.size());
  for (auto& own : patterns_)
    taken.push_back(std::move(own.first));
  patterns_.clear();
  return taken;
}

std::uint64_t RestrictedMaster::steps_per_pivot() const {
  return parameters_.steps_per_pivot(program_.num_rows() + program_.num_columns());
}

std::uint64_t RestrictedMaster::steps_per_solve() const {
  const auto size = static_cast<double>(program_.num_rows() + program_.num_columns());
  const double steps = size * size *
                       (ColumnGenerationParameters::kFactorSquareSteps +
                        size * ColumnGenerationParameters::kFactorCubeSteps);
  return static_cast<std::uint64_t>(std::min(steps, ColumnGenerationParameters::kMaxFactorSteps));
}

DualPoint RestrictedMaster::dual_values() const {
  DualPoint point;
  for (const std::size_t row : shard_row_)
    point.shards.push_back(row == kNone ? 0 : std::max(0.0, program_.dual(row)));
  for (std::uint32_t c = 0; c < first_whole_row_.size(); ++c)
    point.whole.push_back(whole_duals(c));
  set_uniform_duals(point);
  for (std::uint32_t c = 0; c < class_row_.size(); ++c) {
    double& rank = point.ranks.emplace_back(std::max(0.0, -program_.dual(class_row_[c])));
    each_tier_row(c,
                  [&](MemoryTier, std::size_t row) { rank += std::max(0.0, -program_.dual(row)); });
  }
  return point;
}

// Sets the dual value of every uniform shard to its cost in its cheapest class.
void RestrictedMaster::set_uniform_duals(DualPoint& point) const {
  for (const EqualTables& group : groups_) {
    for (const std::uint32_t choice : possible_choices(group)) {
      if (!is_apart(choice)) continue;
      for (std::uint32_t r = rows_.first_row(choice); r < rows_.first_row(choice + 1); ++r) {
        const BoundRow& row = rows_.rows()[r];
        double least = std::numeric_limits<double>::infinity();
        for (std::uint32_t c = 0; c < rows_.classes().size(); ++c) {
          const bool here = row.in_class ? c == row.run : (domain_[choice] >> c & 1) != 0;
          if (!here || !fits(row, c)) continue;
          least = std::min(least, dual_of(row, c, point.whole[rows_.classes().whole_class(c)]));
        }
        point.shards[r] = std::isfinite(least) ? least : 0;
      }
    }
  }
}

double RestrictedMaster::value_of(std::uint32_t choice) const {
  if (choice_column_[choice] != kNone) return program_.value(choice_column_[choice]);
  double sum = 0;
  for (const UniformColumn& column : uniform_columns_) {
    if (column.choice == choice) sum += program_.value(column.column);
  }
  return sum;
}

FractionalPlan RestrictedMaster::plan() const {
  FractionalPlan plan;
  plan.shares.assign(domain_.size(), 0);
  plan.shards.assign(shard_row_.size(), std::vector<double>(class_row_.size(), 0));
  for (const auto& [pattern, column] : patterns_) {
    for (const auto& [row, count] : pattern.shards)
      plan.shards[row][pattern.rank_class] += count * program_.value(column);
  }
  for (const UniformColumn& own : uniform_columns_) {
    for (std::uint32_t r = rows_.first_row(own.choice); r < rows_.first_row(own.choice + 1); ++r) {
      const BoundRow& row = rows_.rows()[r];
      plan.shards[r][row.in_class ? row.run : own.rank_class] +=
          row.need * program_.value(own.column);
    }
  }
  for (const EqualTables& group : groups_)
    deal_out(group, plan);
  return plan;
}

// Distributes the shares of a group to its tables, table by table, so that few tables have several
// choices. The shards are distributed in proportion to the shares.
void RestrictedMaster::deal_out(const EqualTables& group, FractionalPlan& plan) const {
  const std::uint32_t begin = rows_.model().first_choice(group.first());
  std::size_t next = 0;
  double rest_of_table = 1;
  std::vector<std::vector<double>> shards;
  for (const std::uint32_t choice : possible_choices(group)) {
    const std::uint32_t first_row = rows_.first_row(choice);
    shards.assign(plan.shards.begin() + first_row,
                  plan.shards.begin() + rows_.first_row(choice + 1));
    for (std::uint32_t r = first_row; r < rows_.first_row(choice + 1); ++r)
      std::fill(plan.shards[r].begin(), plan.shards[r].end(), 0);
    const double whole = value_of(choice);
    double left = whole;
    while (left > 0 && next < group.size()) {
      const double share = std::min(left, rest_of_table);
      const std::uint32_t own = rows_.model().first_choice(group.tables[next]) + (choice - begin);
      plan.shares[own] += share;
      for (std::size_t r = 0; r < shards.size(); ++r) {
        for (std::size_t c = 0; c < shards[r].size(); ++c)
          plan.shards[rows_.first_row(own) + r][c] += shards[r][c] * share / whole;
      }
      left -= share;
      rest_of_table -= share;
      if (rest_of_table > parameters_.min_share) continue;
      ++next;
      rest_of_table = 1;
    }
  }
}

}  // namespace shardwright::embedding
