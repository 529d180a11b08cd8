// A start for the search from a fractional mix of patterns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/diving_lp.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

// A pattern and its number of ranks.
// Thread safety: a value.
struct RankCount {
  std::uint32_t rank_class = 0;
  HostPart host_part;
  PatternDemand::Shards shards;  // with those of the host part
  std::uint32_t ranks = 0;
};

// The result of a DivingHeuristic. Thread safety: a value.
struct WholePatterns {
  std::vector<RankCount> patterns;                 // sorted by class and host part
  std::vector<std::vector<std::uint32_t>> tables;  // tables with a place, by group and choice
  double unplaced = 0;                             // least size of the other tables, in ranks
};

// A diving heuristic. It solves the DivingLp, fixes all variables that are whole, or else
// rounds up the variable that is nearest to its next whole number, and repeats. Host parts are
// fixed first, in whole hosts, then patterns, then choices.
// Source: the restricted master heuristics of Sadykov, Vanderbeck, Pessoa, Tahiri, Uchoa, "Primal
// Heuristics for Branch and Price: The Assets of Diving Methods" (2019).
// Thread safety: one thread at a time. Refers to the demand and the parameters.
class DivingHeuristic {
 public:
  DivingHeuristic(const PatternDemand& demand, const std::vector<RankPattern>& patterns,
                  const BoundParameters& parameters)
      : demand_(demand), program_(demand, patterns, parameters) {}

  // Returns no patterns if the linear program was not solved or the budget was interrupted. The
  // seed determines small random costs of patterns, and so the result.
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
  DivingLp program_;
};

// Makes a start from a fractional plan. Ranks get the patterns of the best of several PatternDives
// with different seeds. A table has the choice and the ranks of the dive if its shards have a
// place. Other tables have their choice of the largest share, or a choice on all ranks, and no
// ranks: the search places them. No table has ranks if no dive found patterns or gave enough tables
// a place, or if choices fill hosts and a class has only some ranks of a host.
// Thread safety: one thread at a time. Refers to its arguments, except the plan and the budget.
class PatternRounding {
 public:
  // Precondition: the plan is not empty.
  PatternRounding(const BoundRows& rows, const Domain& domain,
                  const std::vector<EqualTables>& groups, const FractionalPlan& plan, double target,
                  const BoundParameters& parameters, const Budget& budget);
  PatternRounding(const PatternRounding&) = delete;
  PatternRounding& operator=(const PatternRounding&) = delete;
  ~PatternRounding();

  // Runs one dive. Returns true if no other dive follows.
  bool step(Budget& budget);
  // Call it once, after step() has returned true.
  Allocation take_start(Budget& budget);

 private:
  class Rounding;
  std::unique_ptr<Rounding> rounding_;
};

// Runs all steps of a PatternRounding and returns its start.
Allocation round_patterns(const BoundRows& rows, const Domain& domain,
                          const std::vector<EqualTables>& groups, const FractionalPlan& plan,
                          double target, const BoundParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
