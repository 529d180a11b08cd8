#include "search/embedding/best/bound/rounding/pattern_dive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "search/random.h"

namespace shardwright::embedding {
namespace {

// A number that is so close to a whole one is whole.
constexpr double kWhole = 1e-6;

// A table without places costs more than any that has some.
constexpr double kUnplaced = 1e3;

std::uint32_t whole_part(double value) {
  return static_cast<std::uint32_t>(std::max(0.0, std::floor(value + kWhole)));
}

}  // namespace

PatternDive::PatternDive(const PatternDemand& demand, const std::vector<RankPattern>& patterns,
                         const ColumnGenerationParameters& parameters)
    : demand_(demand), parameters_(parameters) {
  // By class, host part and all shards; each once.
  std::map<std::tuple<std::uint32_t, HostPart, PatternDemand::Shards>, int> distinct;
  for (std::uint32_t c = 0; c < demand.class_size.size(); ++c)
    distinct[{c, {}, {}}] = 0;  // a rank may stay empty
  for (const RankPattern& pattern : patterns) {
    HostPart host_part;
    PatternDemand::Shards shards;
    for (const auto& own : pattern.shards) {
      const auto found = demand.rows.find(own.first);
      if (found == demand.rows.end()) continue;
      shards.push_back(own);
      if (found->second.fills_hosts) host_part.push_back(own);
    }
    distinct[{pattern.rank_class, std::move(host_part), std::move(shards)}] = 0;
  }
  for (const auto& entry : distinct) {
    const auto& [rank_class, host_part, shards] = entry.first;
    std::vector<RankCount>& all = found_.patterns;
    if (all.empty() || all.back().rank_class != rank_class || all.back().host_part != host_part)
      parts_.push_back({all.size(), all.size(), 0, 0});
    all.push_back({rank_class, host_part, shards, 0});
    ++parts_.back().end;
  }
}

void PatternDive::begin(std::uint64_t seed) {
  program_ = LinearProgram(LinearProgram::Scaling::kNone);
  is_solved_ = false;
  choice_column_.clear();
  found_.tables.clear();
  found_.unplaced = 0;
  for (RankCount& own : found_.patterns)
    own.ranks = 0;
  for (Part& part : parts_)
    part.hosts = 0;
  add_rows();
  add_pattern_columns(seed);
  add_choice_columns();
}

void PatternDive::add_rows() {
  for (const auto& [row, own] : demand_.rows)
    shard_row_[row] = program_.add_row(0, LinearProgram::kInfinity);
  first_class_row_ = program_.num_rows();
  for (const std::uint32_t size : demand_.class_size)
    program_.add_row(size, size);
  for (Part& part : parts_)
    part.row = program_.add_row(0, LinearProgram::kInfinity);
  first_tables_row_ = program_.num_rows();
  for (const PatternDemand::Tables& tables : demand_.tables)
    program_.add_row(tables.count, tables.count);
}

void PatternDive::add_pattern_columns(std::uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<LinearProgram::Entry> entries;
  for (const Part& part : parts_) {
    for (std::size_t p = part.first; p < part.end; ++p) {
      const RankCount& own = found_.patterns[p];
      entries.clear();
      for (const auto& [row, count] : own.shards)
        entries.push_back({shard_row_[row], static_cast<double>(count)});
      entries.push_back({first_class_row_ + own.rank_class, 1});
      entries.push_back({part.row, 1});
      const double cost = seed == 0 ? 0 : random.fraction();
      program_.add_column(cost, 0, LinearProgram::kInfinity, entries);
    }
  }
}

void PatternDive::add_choice_columns() {
  std::vector<LinearProgram::Entry> entries;
  for (std::size_t t = 0; t < demand_.tables.size(); ++t) {
    const PatternDemand::Tables& tables = demand_.tables[t];
    found_.tables.emplace_back(tables.choices.size(), 0);
    std::vector<std::size_t>& columns = choice_column_.emplace_back();
    for (const PatternDemand::Shards& shards : tables.choices) {
      entries.assign(1, {first_tables_row_ + t, 1});
      std::map<std::uint32_t, double> counts;
      for (const auto& [row, count] : shards)
        counts[row] += count;
      for (const auto& [row, count] : counts)
        entries.push_back({shard_row_[row], -count});
      columns.push_back(program_.add_column(0, 0, LinearProgram::kInfinity, entries));
    }
    entries.assign(1, {first_tables_row_ + t, 1});
    program_.add_column(kUnplaced * least_size(tables), 0, LinearProgram::kInfinity, entries);
  }
}

// Of the choices, what all shards take.
double PatternDive::least_size(const PatternDemand::Tables& tables) const {
  double least = std::numeric_limits<double>::infinity();
  for (const PatternDemand::Shards& shards : tables.choices) {
    double size = 0;
    for (const auto& [row, count] : shards)
      size += count * demand_.rows.at(row).size;
    least = std::min(least, size);
  }
  return least;
}

bool PatternDive::solve(Budget& budget) {
  const std::size_t before = program_.iterations();
  const bool is_solved = is_solved_ ? program_.solve_again() : program_.solve();
  is_solved_ = true;
  budget.spend((1 + program_.iterations() - before) *
               parameters_.steps_per_pivot(program_.num_rows() + program_.num_columns()));
  return is_solved && !budget.interrupted();
}

// Empty ranks belong to no host part in particular.
double PatternDive::ranks_of(const Part& part) const {
  double sum = 0;
  for (std::size_t p = part.first; p < part.end; ++p)
    sum += found_.patterns[p].shards.empty() ? 0 : program_.value(p);
  return sum;
}

std::vector<RankCount> PatternDive::used(Budget& budget) {
  std::vector<RankCount> used;
  begin(0);
  if (!solve(budget)) return used;
  for (std::size_t p = 0; p < found_.patterns.size(); ++p) {
    if (program_.value(p) > kWhole) used.push_back(found_.patterns[p]);
  }
  return used;
}

WholePatterns PatternDive::run(Budget& budget, std::uint64_t seed) {
  begin(seed);
  std::vector<Whole> patterns;
  for (std::size_t p = 0; p < found_.patterns.size(); ++p) {
    RankCount& own = found_.patterns[p];
    patterns.push_back({p, &own.ranks, own.shards != own.host_part});
  }
  std::vector<Whole> choices;
  for (std::size_t t = 0; t < choice_column_.size(); ++t) {
    for (std::size_t i = 0; i < choice_column_[t].size(); ++i)
      choices.push_back({choice_column_[t][i], &found_.tables[t][i], true});
  }
  const bool found = solve(budget) && (demand_.ranks_of_host == 1 || fix_parts(budget)) &&
                     fix(patterns, budget) && fix(choices, budget);
  if (!found) return {};
  for (std::size_t t = 0; t < demand_.tables.size(); ++t) {
    const std::vector<std::uint32_t>& placed = found_.tables[t];
    const std::uint32_t num_placed = std::accumulate(placed.begin(), placed.end(), 0U);
    found_.unplaced += (demand_.tables[t].count - num_placed) * least_size(demand_.tables[t]);
  }
  return found_;
}

bool PatternDive::fix_parts(Budget& budget) {
  const double ranks_of_host = demand_.ranks_of_host;
  for (bool is_first = true;; is_first = false) {
    if (!is_first && !solve(budget)) return false;
    Part* next = nullptr;
    double most = 0;
    bool fixed = false;
    for (Part& part : parts_) {
      const double hosts = ranks_of(part) / ranks_of_host;
      const std::uint32_t whole = whole_part(hosts);
      fixed |= whole > part.hosts;
      part.hosts = std::max(part.hosts, whole);
      if (hosts - part.hosts > most) {
        most = hosts - part.hosts;
        next = &part;
      }
    }
    const bool is_whole = most <= kWhole;
    if (is_whole) leave_other_hosts_empty();
    if (!fixed && !is_whole) ++next->hosts;
    for (const Part& part : parts_) {
      const double ranks = part.hosts * ranks_of_host;
      program_.set_row_bounds(part.row, ranks, is_whole ? ranks : LinearProgram::kInfinity);
    }
    if (is_whole) return solve(budget);
  }
}

// The first part of every class is the one that fills no host.
void PatternDive::leave_other_hosts_empty() {
  for (std::uint32_t c = 0; c < demand_.class_size.size(); ++c) {
    std::uint32_t left = demand_.class_size[c] / demand_.ranks_of_host;
    Part* empty = nullptr;
    for (Part& part : parts_) {
      if (found_.patterns[part.first].rank_class != c) continue;
      if (empty == nullptr) empty = &part;
      left -= part.hosts;
    }
    empty->hosts += left;
  }
}

bool PatternDive::fix(const std::vector<Whole>& columns, Budget& budget) {
  for (bool is_first = true;; is_first = false) {
    if (!is_first && !solve(budget)) return false;
    const Whole* next = nullptr;
    double most = 0;
    bool fixed = false;
    for (const Whole& own : columns) {
      const double value = program_.value(own.column);
      const std::uint32_t whole = whole_part(value);
      fixed |= whole > *own.least;
      *own.least = std::max(*own.least, whole);
      if (own.is_open && value - *own.least > most) {
        most = value - *own.least;
        next = &own;
      }
    }
    const bool is_whole = most <= kWhole;
    if (!fixed && !is_whole) ++*next->least;
    for (const Whole& own : columns) {
      const double least = *own.least;
      program_.set_column_bounds(own.column, least, is_whole ? least : LinearProgram::kInfinity);
    }
    if (is_whole) return solve(budget);
  }
}

}  // namespace shardwright::embedding
