// The machines of a sweep, and what a plan and a bound with one memory size say about other sizes.
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

// Returns the evaluation of `plan` if it is valid and rates below `rating` (absent = any rating).
std::optional<Evaluation> evaluate_if_better(const Problem& problem, const Topology& available,
                                             const Plan& plan, std::optional<double> rating);

// Carries plans and bounds along problems of ascending memory. A plan that fits also fits with more
// memory and keeps its rating; a bound that holds with more memory also holds with less.
// Thread safety: one thread at a time.
class MemoryChain {
 public:
  // The plan of the last problem that had one: planning the next one may start from it. May be
  // null.
  const std::shared_ptr<const Plan>& start() const { return start_; }

  // Adds the answer for the next problem; `plan` and `rating` are absent if nothing fits.
  void add(const std::optional<Plan>& plan, std::optional<double> rating,
           std::optional<double> lower_bound);

  // Returns the lower bounds of all problems, in the order of add(). Each is raised to the largest
  // bound of a problem with more memory, but not above its own rating. Absent if add() got none.
  std::vector<std::optional<double>> lower_bounds() const;

 private:
  struct Answer {
    std::optional<double> rating;
    std::optional<double> lower_bound;
  };

  std::shared_ptr<const Plan> start_;
  std::vector<Answer> answers_;
};

// Every value is combined with every other. An empty list stands for the problem's own value.
struct SweepGrid {
  std::vector<std::int64_t> ranks;
  std::optional<std::int64_t> ranks_per_host;  // of one host; at most the number of ranks
  std::vector<std::int64_t> hbm_bytes;         // per rank
  std::vector<std::int64_t> batch_sizes;       // samples per rank
  // One per entry of `ranks`, if `batch_sizes` is empty.
  std::vector<std::int64_t> batch_size_of_ranks;
  // Of one rank for an hour: none, one, or one per entry of `hbm_bytes`.
  std::vector<double> rank_prices;
};

// A combination without its memory.
struct MachineSize {
  std::int64_t ranks = 0;
  std::int64_t batch_size = 0;
};

// Errors: kInvalidInput with the flag, for a value below 1, a price that is not above zero, or a
// number of prices that SweepGrid does not allow.
Status check_grid(const SweepGrid& grid);

// Returns the combinations by ranks, then by batch size, in the order of the grid.
std::vector<MachineSize> machine_sizes(const ProblemSpec& problem, const SweepGrid& grid);

// Indices into `grid.hbm_bytes` from little memory to much; one index if the list is empty.
std::vector<std::size_t> by_memory(const SweepGrid& grid);

// The price of all ranks for an hour, with the memory that `memory` stands for in by_memory().
std::optional<double> hourly_price(const SweepGrid& grid, std::int64_t ranks, std::size_t memory);

// The problem for a machine of this size, with the memory that `memory` stands for in by_memory().
ProblemSpec problem_for(const ProblemSpec& problem, const SweepGrid& grid, const MachineSize& size,
                        std::size_t memory);

}  // namespace shardwright::embedding
