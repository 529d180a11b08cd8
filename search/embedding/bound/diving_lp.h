// The linear program of the diving heuristic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/label_search.h"
#include "search/linear_program.h"
#include "search/random.h"

namespace shardwright::embedding {

// What the patterns of a DivingLp must hold, and the ranks that have patterns.
// Thread safety: a value.
struct PatternDemand {
  // Equal shards, which are counted together.
  struct Row {
    Resources use;    // of one shard
    double size = 0;  // `use` as a fraction of a rank, summed over the resources
    bool fills_hosts = false;
  };
  // The shards of one choice or pattern, as pairs (row, number of shards).
  using Shards = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  // Equal tables, each of which has one of these choices.
  struct Tables {
    std::uint32_t count = 0;
    std::vector<Shards> choices;
  };
  struct Ranks {
    std::uint32_t count = 0;
    Resources room;  // capacity of each rank for patterns
  };

  std::map<std::uint32_t, Row> rows;  // by number
  std::vector<Tables> tables;
  std::vector<Ranks> classes;
  // The number of ranks per host, all of one class, if choices fill hosts; otherwise 1.
  std::uint32_t ranks_of_host = 1;
};

// The host part of a pattern: its shards of choices that fill hosts. All ranks of a host have the
// same host part.
using HostPart = PatternDemand::Shards;

// A linear program that gives every table a choice and every rank a pattern, so that the patterns
// hold the shards of the choices. It minimises the total size of the tables without a choice. A
// dive fixes variables step by step. Because known patterns may not fit what is left, pricing adds
// patterns.
// Thread safety: one thread at a time. Refers to the demand and the parameters.
class DivingLp {
 public:
  // Patterns of one class with one host part.
  struct Part {
    std::uint32_t rank_class = 0;
    HostPart host_part;
    std::size_t row = 0;
  };
  struct Pattern {
    std::size_t part = 0;
    PatternDemand::Shards shards;  // includes the shards of the host part
    std::size_t column = 0;
  };

  DivingLp(const PatternDemand& demand, const std::vector<RankPattern>& patterns,
           const BoundParameters& parameters);

  // Begins a dive. No variable is fixed, and all patterns are kept. If the seed is not 0, patterns
  // get small random costs.
  void begin(std::uint64_t seed);
  // Solve the program, the second with pricing. Both return false if no optimum was found or the
  // budget was interrupted.
  bool solve(Budget& budget);
  bool solve_with_new_patterns(Budget& budget);

  std::span<const Part> parts() const { return parts_; }
  std::span<const Pattern> patterns() const { return patterns_; }
  std::size_t choice_column(std::size_t tables, std::size_t choice) const {
    return choice_column_[tables][choice];
  }
  double value(std::size_t column) const { return program_.value(column); }
  // By part, the number of ranks whose patterns have shards.
  std::vector<double> ranks_of_parts() const;
  // The least total size of the tables without a choice, in ranks.
  double unplaced() const;

  std::uint32_t fixed(std::size_t column) const { return fixed_[column]; }
  // Sets the lower bound of a variable or of the ranks of a part, and the same upper bound if
  // `exactly`.
  void fix(std::size_t column, std::uint32_t number, bool exactly);
  void fix_part(std::size_t part, std::uint32_t ranks, bool exactly);

 private:
  void add_rows();
  void add_column(Pattern& pattern);
  void add_choice_columns();
  double least_size(const PatternDemand::Tables& tables) const;
  bool add_patterns(Budget& budget);
  bool add_pattern(std::size_t part, std::span<const std::uint32_t> most, Budget& budget);
  std::vector<std::uint32_t> most_of_use() const;

  const PatternDemand& demand_;
  const BoundParameters& parameters_;
  std::vector<Part> parts_;
  std::vector<Pattern> patterns_;
  std::map<std::uint32_t, std::size_t> shard_row_;  // row in program_, by PatternDemand row
  std::size_t first_class_row_ = 0;
  std::size_t first_tables_row_ = 0;
  std::vector<std::vector<std::size_t>> choice_column_;
  std::vector<std::size_t> unplaced_column_;
  std::vector<double> least_size_;    // least size of a table, by group
  std::vector<std::uint32_t> fixed_;  // lower bound, by column
  LinearProgram program_{LinearProgram::Scaling::kNone};
  bool is_solved_ = false;    // true if the basis of the last solution can be reused
  std::uint64_t priced_ = 0;  // work of pricing since begin()
  std::optional<RandomGenerator> random_;
  Knapsack knapsack_;
  LabelSearch search_;
};

}  // namespace shardwright::embedding
