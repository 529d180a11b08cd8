// A subproblem of branch and bound: how it is bounded, closed and divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/solve/exact/dual/dual_ascent.h"
#include "search/operators/solve/parameters/solver_parameters.h"
#include "search/operators/solve/reduce/reduce.h"

namespace shardwright::operators {

// A price that is not zero.
struct PricedTime {
  std::uint32_t time = 0;  // of the instance
  double price = 0;
};

// The choices that take, at every node, one of the strategies kept.
struct Subproblem {
  std::vector<char> kept;  // flat by node and strategy
  std::vector<PricedTime> prices;
  double bound = 0;
  std::uint64_t order = 0;  // of creation; decides ties
};

// What working on a subproblem gave.
struct ProcessedSubproblem {
  double bound = kForbidden;  // kForbidden = closed
  std::optional<std::vector<std::uint32_t>> choice;
  double cost = kForbidden;
  std::vector<Subproblem> children;
  std::uint64_t work = 0;
};

// Reduces a subproblem, closes it by tables if it has become narrow, bounds it otherwise, and
// divides it if it stays open.
// Thread safety: const members may be called from any thread.
class SubproblemProcessor {
 public:
  // Borrows its arguments. Of the budget it reads deadline and stop; work is reported instead.
  SubproblemProcessor(const CostInstance& instance, const Budget& budget,
                      const SolverParameters& parameters);

  // A choice of at least this cost is not worth finding if one of cost `best` is known: the
  // difference is rounding, or less than 1 if all costs are whole numbers.
  double cutoff(double best) const;

  // `best` is the cost of the best known choice.
  ProcessedSubproblem run(Subproblem problem, double best) const;

 private:
  void offer(const Reduction& reduction, const std::vector<std::uint32_t>& core_choice,
             ProcessedSubproblem& result) const;
  bool close_by_tables(const Reduction& reduction, ProcessedSubproblem& result) const;
  void ascend(DualAscent& dual, const Reduction& reduction, ProcessedSubproblem& result) const;
  std::size_t exclude(const Reduction& reduction, const DualAscent& dual, double cutoff,
                      Subproblem& problem) const;
  void drop(std::vector<char>& kept, const Reduction& reduction, std::uint32_t node,
            std::uint32_t strategy) const;
  void divide(const Reduction& reduction, const DualAscent& dual, const Subproblem& problem,
              ProcessedSubproblem& result) const;

  const CostInstance* instance_;
  const Budget* budget_;
  const SolverParameters* parameters_;
  bool whole_costs_;
  std::vector<std::size_t> first_;  // by node: where its strategies begin in Subproblem::kept
};

}  // namespace shardwright::operators
