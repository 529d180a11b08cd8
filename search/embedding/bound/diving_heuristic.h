// Rounds a fractional mix of patterns to a start for the search for plans.
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

// A pattern and the number of ranks that have it.
// Thread safety: a value.
struct RankCount {
  std::uint32_t rank_class = 0;
  HostPart host_part;
  PatternDemand::Shards shards;  // includes the shards of `host_part`
  std::uint32_t ranks = 0;
};

// The result of a DivingHeuristic. Thread safety: a value.
struct WholePatterns {
  std::vector<RankCount> patterns;                 // sorted by class and host part
  std::vector<std::vector<std::uint32_t>> tables;  // number of placed tables, by group and choice
  double unplaced = 0;                             // least size of tables without a place, in ranks
};

// A diving heuristic: solves the DivingLp, fixes all variables that are whole, or else
// rounds up the variable that is nearest to its next whole number, and repeats. The number of hosts
// per host part is fixed first, then the ranks per pattern, then the choices.
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
  // A column whose value must become whole.
  struct Whole {
    std::size_t column = 0;
    bool is_open = true;  // if false, the column is never rounded up
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

// Makes a start from a fractional plan. Runs a DivingHeuristic with several seeds, and gives ranks
// the patterns of the best dive. A table that this dive placed gets the dive's choice and ranks.
// Every other table gets no ranks, so that the search places it; its choice is a choice on all
// ranks, or the choice with the largest share. No table gets ranks if no dive placed enough tables,
// or if choices fill hosts and a class has only some ranks of a host.
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

  // Runs one dive. Returns true after the last dive.
  bool step(Budget& budget);
  // Must be called once, after step() has returned true.
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
