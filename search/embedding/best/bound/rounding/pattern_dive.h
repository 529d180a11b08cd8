// Whole numbers of patterns from a linear program over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/bound/model/rank_pattern.h"
#include "search/embedding/best/parameters/bound_parameters.h"
#include "search/linear_program.h"

namespace shardwright::embedding {

// What patterns are to hold.
// Thread safety: a value.
struct PatternDemand {
  // Shards that are counted together.
  struct Row {
    double size = 0;  // of one, as a part of a rank
    bool fills_hosts = false;
  };
  // One way to shard a table, with the number of shards of each row.
  using Shards = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  // Equal tables, each of which has one of these choices.
  struct Tables {
    std::uint32_t count = 0;
    std::vector<Shards> choices;
  };

  std::map<std::uint32_t, Row> rows;  // by number
  std::vector<Tables> tables;
  std::vector<std::uint32_t> class_size;  // ranks, by class
  // Of every host, if shards fill hosts; all of them are of one class then. Otherwise 1.
  std::uint32_t ranks_of_host = 1;
};

// All ranks of a host hold the same shards of choices that fill hosts. These are the host part of a
// pattern.
using HostPart = PatternDemand::Shards;

// A pattern that so many ranks get.
// Thread safety: a value.
struct RankCount {
  std::uint32_t rank_class = 0;
  HostPart host_part;
  PatternDemand::Shards shards;  // those of the host part, too
  std::uint32_t ranks = 0;
};

// Thread safety: a value.
struct WholePatterns {
  std::vector<RankCount> patterns;                 // those of a class and a host part in a row
  std::vector<std::vector<std::uint32_t>> tables;  // how many have a choice and places, by choice
  double unplaced = 0;                             // what the others need at least, in ranks
};

// Diving: the linear program chooses among the choices of tables and leaves as little as possible
// without a place; what it has whole is fixed, then the number that is nearest to the next whole
// one, and it is solved again. Host parts come first, so that hosts have them whole, then patterns,
// then choices.
// Source: the restricted master heuristics of Sadykov, Vanderbeck, Pessoa, Tahiri, Uchoa, "Primal
// Heuristics for Branch and Price: The Assets of Diving Methods" (2019).
// Thread safety: one thread at a time. Refers to the demand and the parameters.
class PatternDive {
 public:
  PatternDive(const PatternDemand& demand, const std::vector<RankPattern>& patterns,
              const ColumnGenerationParameters& parameters);

  // The patterns that a solution of the linear program has, whole or not; none if there is no
  // solution.
  std::vector<RankCount> used(Budget& budget);
  // No patterns if the linear program failed or the budget was interrupted. Other seeds make other
  // patterns a little dearer, and so end at other numbers of them.
  WholePatterns run(Budget& budget, std::uint64_t seed = 0);

 private:
  // Patterns of one class with one host part, which are consecutive.
  struct Part {
    std::size_t first = 0;
    std::size_t end = 0;
    std::size_t row = 0;  // of the linear program
    std::uint32_t hosts = 0;
  };
  // A column whose value is to be whole, and what is fixed of it.
  struct Whole {
    std::size_t column = 0;
    std::uint32_t* least = nullptr;
    bool is_open = true;  // otherwise its number follows from the others
  };

  void begin(std::uint64_t seed);
  void add_rows();
  void add_pattern_columns(std::uint64_t seed);
  void add_choice_columns();
  double least_size(const PatternDemand::Tables& tables) const;
  bool solve(Budget& budget);
  double ranks_of(const Part& part) const;
  bool fix_parts(Budget& budget);
  void leave_other_hosts_empty();
  bool fix(const std::vector<Whole>& columns, Budget& budget);

  const PatternDemand& demand_;
  const ColumnGenerationParameters& parameters_;
  WholePatterns found_;
  std::vector<Part> parts_;
  std::map<std::uint32_t, std::size_t> shard_row_;  // of the linear program, by row
  std::size_t first_class_row_ = 0;
  std::size_t first_tables_row_ = 0;
  std::vector<std::vector<std::size_t>> choice_column_;
  LinearProgram program_{LinearProgram::Scaling::kNone};
  bool is_solved_ = false;  // once
};

}  // namespace shardwright::embedding
