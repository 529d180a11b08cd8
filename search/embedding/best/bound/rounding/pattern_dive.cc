#include "search/embedding/best/bound/rounding/pattern_dive.h"

#include <algorithm>
#include <cmath>

namespace shardwright::embedding {
namespace {

// A number that is so close to a whole one is whole.
constexpr double kWhole = 1e-6;

std::uint32_t whole_part(double value) {
  return static_cast<std::uint32_t>(std::max(0.0, std::floor(value + kWhole)));
}

}  // namespace

WholePatterns PatternDive::run(Budget& budget, std::uint64_t seed) {
  program_.begin(seed);
  const bool is_found = program_.solve_with_new_patterns(budget) &&
                        (demand_.ranks_of_host == 1 || fix_parts(budget)) && fix_patterns(budget) &&
                        fix_choices(budget);
  return is_found ? found() : WholePatterns{};
}

bool PatternDive::fix_parts(Budget& budget) {
  const double ranks_of_host = demand_.ranks_of_host;
  std::vector<std::uint32_t> fixed_hosts(program_.parts().size(), 0);
  for (bool is_first = true;; is_first = false) {
    if (!is_first && !program_.solve_with_new_patterns(budget)) return false;
    const std::vector<double> ranks = program_.ranks_of_parts();
    std::size_t next = 0;
    double most = 0;
    bool fixed = false;
    for (std::size_t p = 0; p < fixed_hosts.size(); ++p) {
      const double hosts = ranks[p] / ranks_of_host;
      const std::uint32_t whole = whole_part(hosts);
      fixed |= whole > fixed_hosts[p];
      fixed_hosts[p] = std::max(fixed_hosts[p], whole);
      if (hosts - fixed_hosts[p] > most) {
        most = hosts - fixed_hosts[p];
        next = p;
      }
    }
    const bool is_whole = most <= kWhole;
    if (is_whole) leave_other_hosts_empty(fixed_hosts);
    if (!fixed && !is_whole) ++fixed_hosts[next];
    for (std::size_t p = 0; p < fixed_hosts.size(); ++p)
      program_.fix_part(p, fixed_hosts[p] * demand_.ranks_of_host, is_whole);
    if (is_whole) return program_.solve_with_new_patterns(budget);
  }
}

// The first part of every class is the one that fills no host.
void PatternDive::leave_other_hosts_empty(std::vector<std::uint32_t>& hosts) const {
  for (std::uint32_t c = 0; c < demand_.classes.size(); ++c) {
    std::uint32_t left = demand_.classes[c].count / demand_.ranks_of_host;
    std::size_t empty = hosts.size();
    for (std::size_t p = 0; p < hosts.size(); ++p) {
      if (program_.parts()[p].rank_class != c) continue;
      empty = std::min(empty, p);
      left -= hosts[p];
    }
    hosts[empty] += left;
  }
}

bool PatternDive::fix_patterns(Budget& budget) {
  while (!fix_next(pattern_columns())) {
    if (!program_.solve_with_new_patterns(budget)) return false;
  }
  return program_.solve(budget);
}

bool PatternDive::fix_choices(Budget& budget) {
  while (!fix_next(choice_columns())) {
    if (!program_.solve(budget)) return false;
  }
  return program_.solve(budget);
}

std::vector<PatternDive::Whole> PatternDive::pattern_columns() const {
  std::vector<Whole> columns;
  for (const PatternProgram::Pattern& own : program_.patterns())
    columns.push_back({own.column, own.shards != program_.parts()[own.part].host_part});
  return columns;
}

std::vector<PatternDive::Whole> PatternDive::choice_columns() const {
  std::vector<Whole> columns;
  for (std::size_t t = 0; t < demand_.tables.size(); ++t) {
    for (std::size_t i = 0; i < demand_.tables[t].choices.size(); ++i)
      columns.push_back({program_.choice_column(t, i), true});
  }
  return columns;
}

// Fixes what is whole, or else the number that is nearest to the next whole one. Returns true if
// all were whole.
bool PatternDive::fix_next(const std::vector<Whole>& columns) {
  std::vector<std::uint32_t> numbers;
  std::size_t next = 0;
  double most = 0;
  bool fixed = false;
  for (const Whole& own : columns) {
    const double value = program_.value(own.column);
    const std::uint32_t before = program_.fixed(own.column);
    numbers.push_back(std::max(before, whole_part(value)));
    fixed |= numbers.back() > before;
    if (own.is_open && value - numbers.back() > most) {
      most = value - numbers.back();
      next = numbers.size() - 1;
    }
  }
  const bool is_whole = most <= kWhole;
  if (!fixed && !is_whole) ++numbers[next];
  for (std::size_t i = 0; i < columns.size(); ++i)
    program_.fix(columns[i].column, numbers[i], is_whole);
  return is_whole;
}

WholePatterns PatternDive::found() const {
  WholePatterns found;
  for (std::size_t p = 0; p < program_.parts().size(); ++p) {
    const PatternProgram::Part& part = program_.parts()[p];
    for (const PatternProgram::Pattern& own : program_.patterns()) {
      const std::uint32_t ranks = program_.fixed(own.column);
      if (own.part == p && ranks > 0)
        found.patterns.push_back({part.rank_class, part.host_part, own.shards, ranks});
    }
  }
  for (std::size_t t = 0; t < demand_.tables.size(); ++t) {
    std::vector<std::uint32_t>& counts = found.tables.emplace_back();
    for (std::size_t i = 0; i < demand_.tables[t].choices.size(); ++i)
      counts.push_back(program_.fixed(program_.choice_column(t, i)));
  }
  found.unplaced = program_.unplaced();
  return found;
}

}  // namespace shardwright::embedding
