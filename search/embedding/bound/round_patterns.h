// A start for the search from a fractional mix of patterns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/pattern_program.h"
#include "search/embedding/model/allocation.h"

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

// Every table has the choice that the plan takes most of, and its ranks if they could be found for
// all its shards: a rank gets one of the plan's patterns (PatternDive, several times with other
// seeds). Tables without ranks are to be placed beside the others. None has ranks if the patterns
// say nothing about single ones, because a class has only some ranks of a host that a choice fills,
// or if the budget was interrupted.
// Thread safety: one thread at a time. Refers to its arguments, but for the plan and the budget.
class PatternRounding {
 public:
  // Precondition: the plan is not empty.
  PatternRounding(const BoundRows& rows, const Domain& domain,
                  const std::vector<EqualTables>& groups, const FractionalPlan& plan, double target,
                  const BoundParameters& parameters, const Budget& budget);
  PatternRounding(const PatternRounding&) = delete;
  PatternRounding& operator=(const PatternRounding&) = delete;
  ~PatternRounding();

  // One dive. Returns true if there is nothing left to do.
  bool step(Budget& budget);
  // Once, after step() has returned true.
  Allocation take_start(Budget& budget);

 private:
  class Rounding;
  std::unique_ptr<Rounding> rounding_;
};

// The same at once.
Allocation round_patterns(const BoundRows& rows, const Domain& domain,
                          const std::vector<EqualTables>& groups, const FractionalPlan& plan,
                          double target, const BoundParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
