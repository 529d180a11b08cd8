// Whole numbers of patterns from a linear program over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/bound/model/rank_pattern.h"
#include "search/embedding/best/bound/rounding/pattern_demand.h"
#include "search/embedding/best/bound/rounding/pattern_program.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

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
              const BoundParameters& parameters)
      : demand_(demand), program_(demand, patterns, parameters) {}

  // No patterns if the linear program failed or the budget was interrupted. Other seeds make other
  // patterns a little dearer, and so end at other numbers of them.
  WholePatterns run(Budget& budget, std::uint64_t seed = 0);

 private:
  // A column whose value is to be whole.
  struct Whole {
    std::size_t column = 0;
    bool is_open = true;  // otherwise its number follows from the others
  };

  bool fix_parts(Budget& budget);
  void leave_other_hosts_empty(std::vector<std::uint32_t>& hosts) const;
  std::vector<Whole> pattern_columns() const;
  std::vector<Whole> choice_columns() const;
  bool fix_patterns(Budget& budget);
  bool fix_choices(Budget& budget);
  bool fix_next(const std::vector<Whole>& columns);
  WholePatterns found() const;

  const PatternDemand& demand_;
  PatternProgram program_;
};

}  // namespace shardwright::embedding
