// Runs the local search and the dual ascent together: the choice and the bound of large instances.
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/solve/local_search.h"
#include "search/operators/solve/message_passing.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// Sums are rounded, so a bound that is below the cost by at most this fraction proves optimality.
inline constexpr double kProvedWithin = 1e-9;

// Runs a LocalSearch and a DualAscent side by side. While the blocks of a batch are solved, one
// worker takes a step of the ascent. The work of a step is a fraction of the work of the previous
// batch. Between batches the ascent gets the best cost of the search as its target, and the search
// begins cycles with choices of the ascent. Ends when neither of them improves, or when the bound
// proves the choice. An ExplorationDomain; the answer does not depend on the number of workers.
// Borrows its arguments. Thread safety: as of an ExplorationDomain.
class BoundedSearch {
 public:
  BoundedSearch(LocalSearch& search, DualAscent& dual, const StageParameters& parameters);

  const LocalSearch& search() const { return *search_; }
  const DualAscent& dual() const { return *dual_; }

  std::size_t batches_in_flight() const { return 1; }
  std::size_t propose(std::size_t slot, const Budget& budget);
  RangeSizes range_sizes() const { return {1, 1}; }
  void evaluate(std::size_t slot, unsigned worker, std::size_t begin, std::size_t end,
                const Budget& budget);
  bool synchronize(std::size_t slot, Budget& budget);

 private:
  bool is_proved() const;
  void end_round();

  LocalSearch* search_;
  DualAscent* dual_;
  StageParameters parameters_;
  double suggested_at_;           // bound at the last suggestion
  bool ascends_ = true;           // the bound still rises
  std::uint64_t work_to_do_ = 0;  // of the ascent's step
  std::uint64_t work_done_ = 0;
};

}  // namespace shardwright::operators
