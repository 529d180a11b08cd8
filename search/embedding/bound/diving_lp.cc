#include "search/embedding/bound/diving_lp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "search/embedding/bound/pricing_problem.h"

namespace shardwright::embedding {
namespace {

// Cost of a table without a choice, per rank that it needs; far above the cost of patterns.
constexpr double kUnplaced = 1e3;

// The least gain of a new pattern: the largest random cost of a pattern, 1, plus a margin.
constexpr double kLeastGain = 2;

// A fraction of a rank below this counts as 0.
constexpr double kNothing = 1e-6;

}  // namespace

DivingLp::DivingLp(const PatternDemand& demand, const std::vector<RankPattern>& patterns,
                   const BoundParameters& parameters)
    : demand_(demand), parameters_(parameters), search_(parameters.rounding.pricing) {
  // Distinct patterns: class, host part and all shards.
  std::set<std::tuple<std::uint32_t, HostPart, PatternDemand::Shards>> distinct;
  for (std::uint32_t c = 0; c < demand.classes.size(); ++c)
    distinct.insert({c, {}, {}});  // a rank may stay empty
  for (const RankPattern& pattern : patterns) {
    HostPart host_part;
    PatternDemand::Shards shards;
    for (const auto& own : pattern.shards) {
      shards.push_back(own);
      if (demand.rows.at(own.first).fills_hosts) host_part.push_back(own);
    }
    distinct.insert({pattern.rank_class, host_part, host_part});
    distinct.insert({pattern.rank_class, std::move(host_part), std::move(shards)});
  }
  for (const auto& [rank_class, host_part, shards] : distinct) {
    const bool is_new = parts_.empty() || parts_.back().rank_class != rank_class ||
                        parts_.back().host_part != host_part;
    if (is_new) parts_.push_back({rank_class, host_part, 0});
    patterns_.push_back({parts_.size() - 1, shards, 0});
  }
  for (const PatternDemand::Tables& tables : demand.tables)
    least_size_.push_back(least_size(tables));
}

// The size of the smallest choice of a table, summed over its shards.
double DivingLp::least_size(const PatternDemand::Tables& tables) const {
  double least = std::numeric_limits<double>::infinity();
  for (const PatternDemand::Shards& shards : tables.choices) {
    double size = 0;
    for (const auto& [row, count] : shards)
      size += count * demand_.rows.at(row).size;
    least = std::min(least, size);
  }
  return least;
}

void DivingLp::begin(std::uint64_t seed) {
  program_ = LinearProgram(LinearProgram::Scaling::kNone);
  is_solved_ = false;
  priced_ = 0;
  random_.reset();
  if (seed != 0) random_.emplace(seed);
  choice_column_.clear();
  unplaced_column_.clear();
  fixed_.clear();
  add_rows();
  for (Pattern& pattern : patterns_)
    add_column(pattern);
  add_choice_columns();
}

void DivingLp::add_rows() {
  for (const auto& [row, own] : demand_.rows)
    shard_row_[row] = program_.add_row(0, LinearProgram::kInfinity);
  first_class_row_ = program_.num_rows();
  for (const PatternDemand::Ranks& ranks : demand_.classes)
    program_.add_row(ranks.count, ranks.count);
  for (Part& part : parts_)
    part.row = program_.add_row(0, LinearProgram::kInfinity);
  first_tables_row_ = program_.num_rows();
  for (const PatternDemand::Tables& tables : demand_.tables)
    program_.add_row(tables.count, tables.count);
}

void DivingLp::add_column(Pattern& pattern) {
  const Part& part = parts_[pattern.part];
  std::vector<LinearProgram::Entry> entries;
  for (const auto& [row, count] : pattern.shards)
    entries.push_back({shard_row_[row], static_cast<double>(count)});
  entries.push_back({first_class_row_ + part.rank_class, 1});
  entries.push_back({part.row, 1});
  const double cost = random_ ? random_->fraction() : 0;
  pattern.column = program_.add_column(cost, 0, LinearProgram::kInfinity, entries);
  fixed_.resize(pattern.column + 1);
  is_solved_ = false;
}

void DivingLp::add_choice_columns() {
  std::vector<LinearProgram::Entry> entries;
  for (std::size_t t = 0; t < demand_.tables.size(); ++t) {
    std::vector<std::size_t>& columns = choice_column_.emplace_back();
    for (const PatternDemand::Shards& shards : demand_.tables[t].choices) {
      entries.assign(1, {first_tables_row_ + t, 1});
      std::map<std::uint32_t, double> counts;
      for (const auto& [row, count] : shards)
        counts[row] += count;
      for (const auto& [row, count] : counts)
        entries.push_back({shard_row_[row], -count});
      columns.push_back(program_.add_column(0, 0, LinearProgram::kInfinity, entries));
    }
    entries.assign(1, {first_tables_row_ + t, 1});
    const double cost = kUnplaced * least_size_[t];
    unplaced_column_.push_back(program_.add_column(cost, 0, LinearProgram::kInfinity, entries));
  }
  fixed_.resize(program_.num_columns());
}

bool DivingLp::solve(Budget& budget) {
  const std::size_t before = program_.iterations();
  const bool is_solved = is_solved_ ? program_.solve_again() : program_.solve();
  is_solved_ = true;
  const RoundingParameters& rounding = parameters_.rounding;
  const auto size = static_cast<double>(program_.num_rows() + program_.num_columns());
  const std::uint64_t steps_per_pivot =
      rounding.pivot_steps + static_cast<std::uint64_t>(size * RoundingParameters::kPivotSizeSteps);
  budget.spend(RoundingParameters::kSolveSteps +
               (program_.iterations() - before) * steps_per_pivot);
  return is_solved && !budget.interrupted();
}

bool DivingLp::solve_with_new_patterns(Budget& budget) {
  if (!solve(budget)) return false;
  for (std::uint32_t round = 0; round < parameters_.rounding.pricing_rounds; ++round) {
    if (unplaced() < kNothing || priced_ >= RoundingParameters::kMostPricingWork) break;
    const std::uint64_t before = budget.work_done();
    const bool added = add_patterns(budget);
    priced_ += budget.work_done() - before;
    if (!added) break;
    if (!solve(budget)) return false;
  }
  return true;
}

// Adds patterns that hold more shards: for empty host parts and those in use, or else for the
// others. Returns false if no pattern was added.
bool DivingLp::add_patterns(Budget& budget) {
  budget.spend(2 * patterns_.size());
  const std::vector<std::uint32_t> most = most_of_use();
  const std::vector<double> ranks = ranks_of_parts();
  bool added = false;
  for (const bool is_used : {true, false}) {
    for (std::size_t p = 0; p < parts_.size() && !budget.interrupted(); ++p) {
      if ((parts_[p].host_part.empty() || ranks[p] > kNothing) == is_used)
        added |= add_pattern(p, most, budget);
    }
    if (added) break;
  }
  return added;
}

// Returns by row the number of shards that the fixed patterns do not hold.
std::vector<std::uint32_t> DivingLp::most_of_use() const {
  std::vector<double> left(demand_.rows.size(), 0.0);
  for (std::size_t t = 0; t < demand_.tables.size(); ++t) {
    const double unplaced = program_.value(unplaced_column_[t]);
    for (std::size_t i = 0; i < choice_column_[t].size(); ++i) {
      const double tables = unplaced + program_.value(choice_column_[t][i]);
      for (const auto& [row, count] : demand_.tables[t].choices[i])
        left[shard_row_.at(row)] += tables * count;
    }
  }
  for (const Pattern& pattern : patterns_) {
    for (const auto& [row, count] : pattern.shards)
      left[shard_row_.at(row)] -= fixed_[pattern.column] * static_cast<double>(count);
  }
  std::vector<std::uint32_t> most;
  most.reserve(left.size());
  for (const double own : left)
    most.push_back(static_cast<std::uint32_t>(std::max(0.0, std::ceil(own - kNothing))));
  return most;
}

bool DivingLp::add_pattern(std::size_t part, std::span<const std::uint32_t> most, Budget& budget) {
  const Part& own = parts_[part];
  Resources room = demand_.classes[own.rank_class].room;
  double least =
      kLeastGain - program_.dual(first_class_row_ + own.rank_class) - program_.dual(own.row);
  for (const auto& [row, count] : own.host_part) {
    room.remove(count, demand_.rows.at(row).use);
    least -= count * program_.dual(shard_row_[row]);
  }
  std::vector<Item> items;
  std::vector<std::uint32_t> copies;
  for (const auto& [row, shard] : demand_.rows) {
    const std::size_t at = shard_row_[row];
    const double value = program_.dual(at);
    if (shard.fills_hosts || most[at] == 0 || value <= 0 || !shard.use.fits_in(room)) continue;
    items.push_back({value, shard.use, row, 1, row, 0});
    copies.push_back(most[at]);
  }
  if (items.empty()) return false;
  std::uint64_t steps = 0;
  const std::uint64_t before = search_.steps();
  knapsack_.fill(items, copies, room);
  const CapacityMultipliers multipliers =
      best_multipliers(knapsack_, parameters_.rounding.pricing, steps);
  knapsack_.sort_classes(multipliers);
  search_.begin(knapsack_, multipliers, std::max(0.0, least));
  search_.run_beam();
  budget.spend(steps + KnapsackParameters::kLabelWork * (search_.steps() - before));
  if (search_.best_value() <= least) return false;
  std::map<std::uint32_t, std::uint32_t> counts(own.host_part.begin(), own.host_part.end());
  for (const Item& item : search_.best_items())
    counts[item.row] += item.count;
  patterns_.push_back({part, {counts.begin(), counts.end()}, 0});
  add_column(patterns_.back());
  return true;
}

std::vector<double> DivingLp::ranks_of_parts() const {
  std::vector<double> ranks(parts_.size(), 0.0);
  for (const Pattern& pattern : patterns_) {
    if (!pattern.shards.empty()) ranks[pattern.part] += program_.value(pattern.column);
  }
  return ranks;
}

double DivingLp::unplaced() const {
  double sum = 0;
  for (std::size_t t = 0; t < unplaced_column_.size(); ++t)
    sum += program_.value(unplaced_column_[t]) * least_size_[t];
  return sum;
}

void DivingLp::fix(std::size_t column, std::uint32_t number, bool exactly) {
  fixed_[column] = number;
  const double least = number;
  program_.set_column_bounds(column, least, exactly ? least : LinearProgram::kInfinity);
}

void DivingLp::fix_part(std::size_t part, std::uint32_t ranks, bool exactly) {
  const double least = ranks;
  program_.set_row_bounds(parts_[part].row, least, exactly ? least : LinearProgram::kInfinity);
}

}  // namespace shardwright::embedding
