// Slapo's improvement loop, which asks for a cheaper assignment until there is none; an assignment
// as a schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/operators/autoshard/autoshard_evaluate.h"
#include "core/status.h"
#include "search/operators/autoshard/solver.h"

namespace shardwright::operators::autoshard {

// Returns an assignment whose scaled cost is less than the bound, or nothing if there is none.
using Oracle = std::function<std::optional<Assignment>(std::int64_t scaled_bound)>;

struct Iteration {
  std::size_t index = 0;
  Assignment assignment;
  Evaluation evaluation;
};

struct ImproveResult {
  std::optional<Iteration> last;  // nothing if no assignment is below the first bound
  std::size_t iterations = 0;     // improving ones
  bool exhausted = false;         // nothing is cheaper, so `last` is optimal
};

inline constexpr std::int64_t kFirstBound = 1'000'000'000'000;
inline constexpr std::size_t kMaxIterations = 100;

// The first bound is kFirstBound, and later ones are the cost of the iteration before. Asks at most
// kMaxIterations times. Calls `on_iteration` for every improvement. Errors: as evaluate;
// kVerificationFailed if the answer does not cost less than the bound.
// Source: see CostModel, `solve`.
Result<ImproveResult> improve(const Request& request, const Oracle& oracle,
                              const std::function<void(const Iteration&)>& on_iteration);

// First the lines that shard parameters of modules, then those that reshard activations, each in
// graph order.
// Precondition: `assignment` has passed evaluate.
// Source: see CostModel, `generate_schedule_sequence`.
std::vector<std::string> schedule(const Graph& graph, const Assignment& assignment,
                                  CostModel model);

}  // namespace shardwright::operators::autoshard
