// The machines of a sweep, and how plans and bounds for one memory size serve other sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/status.h"

namespace shardwright::embedding {

// Returns the evaluation of `plan` if the plan is valid and rates below `rating` (if given).
std::optional<Evaluation> evaluate_if_better(const Problem& problem, const Topology& available,
                                             const Plan& plan, std::optional<double> rating);

// Carries plans and bounds along a chain of problems that differ only in memory, in ascending
// order. A plan that fits also fits with more memory, at the same rating. A lower bound that holds
// with more memory also holds with less.
// Thread safety: one thread at a time.
class MemoryChain {
 public:
  // The plan of the last problem with a plan, from which planning the next problem may start. Null
  // if no problem had a plan.
  const std::shared_ptr<const Plan>& start() const { return start_; }

  // Adds the answer for the next problem. `plan` and `rating` are absent if there is no plan.
  void add(const std::optional<Plan>& plan, std::optional<double> rating,
           std::optional<double> lower_bound);

  // Returns the lower bounds of all problems, in the order of add(). Each bound is raised to the
  // largest bound of a problem with more memory, but not above the problem's own rating. A bound is
  // absent if add() got none for the problem.
  std::vector<std::optional<double>> lower_bounds() const;

 private:
  struct Answer {
    std::optional<double> rating;
    std::optional<double> lower_bound;
  };

  std::shared_ptr<const Plan> start_;
  std::vector<Answer> answers_;
};

// A sweep plans for every combination of values. An empty list stands for the problem's own value.
struct SweepGrid {
  std::vector<std::int64_t> ranks;
  std::optional<std::int64_t> ranks_per_host;  // at most the number of ranks
  std::vector<std::int64_t> hbm_bytes;         // per rank
  std::vector<std::int64_t> batch_sizes;       // samples per rank
  // Samples per rank, one per entry of `ranks`. Used if `batch_sizes` is empty.
  std::vector<std::int64_t> batch_size_of_ranks;
  // Price of one rank for an hour: no entry, one entry, or one per entry of `hbm_bytes`.
  std::vector<double> rank_prices;
};

// A combination of SweepGrid values, without the memory.
struct MachineSize {
  std::int64_t ranks = 0;
  std::int64_t batch_size = 0;
};

// Errors: kInvalidInput with the command-line flag, if a value is below 1, a price is not above 0,
// or SweepGrid does not allow this number of prices.
Status check_grid(const SweepGrid& grid);

// Returns all combinations, by ranks and then by batch size, in the order of the grid.
std::vector<MachineSize> machine_sizes(const ProblemSpec& problem, const SweepGrid& grid);

// Indices into `grid.hbm_bytes` in ascending order of memory; a single 0 if the list is empty.
std::vector<std::size_t> by_memory(const SweepGrid& grid);

// The price of all ranks for an hour; absent without prices. `memory`: an element of by_memory().
std::optional<double> hourly_price(const SweepGrid& grid, std::int64_t ranks, std::size_t memory);

// The problem for a machine of this size. `memory`: an element of by_memory().
ProblemSpec problem_for(const ProblemSpec& problem, const SweepGrid& grid, const MachineSize& size,
                        std::size_t memory);

}  // namespace shardwright::embedding
