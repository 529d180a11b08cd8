// Placements of experts on the slots of GPUs, their loads, and the check of a plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/experts/expert_problem.h"
#include "core/status.h"

namespace shardwright::experts {

using Expert = std::int32_t;

// Which expert every slot holds: [layers][slots]. GPU g holds slots g * k to (g + 1) * k - 1 of a
// layer, for k slots per GPU. Replicas of an expert share its load evenly.
using Placement = std::vector<Expert>;

// What is minimised over several windows: the mean of their times, or the time of the worst window.
// The time of a window is the sum over layers of the busiest GPU.
enum class Over : std::uint8_t { kMean, kWorst };
inline constexpr std::array<std::string_view, 2> kOverNames{"mean", "worst"};

// The argument that proves a lower bound (bound.h).
enum class BoundRule : std::uint8_t { kMean, kShares, kGroups, kTried, kWindows, kPairs };
inline constexpr std::array<std::string_view, 6> kBoundRuleNames{"mean",  "shares",  "groups",
                                                                 "tried", "windows", "pairs"};

// Thread safety: a value.
struct ExpertPlan {
  Placement placement;
  std::vector<double> max_load;     // [layers]: the busiest GPU; over windows as in `over`
  std::vector<double> mean_load;    // [layers]: load of all experts / speed of all GPUs
  std::vector<double> lower_bound;  // [layers]
  std::vector<BoundRule> rules;     // [layers]
  double objective = 0;             // sum of max_load, and migration_weight * moved
  std::size_t moved = 0;            // slots whose expert was not on their GPU before
  double link_cost = 0;             // see link_cost(); 0 without link costs
  bool proven_optimal = false;      // lower bounds equal max_load, up to kRounding, nothing moved
};

// Relative difference up to which two loads count as equal. Sums of doubles differ by less.
inline constexpr double kRounding = 1e-11;

// Returns the number of replicas of every expert: [experts]. `slots`: one layer. O(slots).
std::vector<std::int32_t> replica_counts(const ExpertProblem& problem, const Expert* slots);

// Returns the time of every GPU, load / speed: [gpus]. O(slots + experts).
std::vector<double> gpu_times(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                              const Expert* slots);

// Busiest GPU per window and layer: [samples][layers]. O(samples * layers * slots).
std::vector<double> busiest_times(const ExpertProblem& problem, const Placement& placement);

// Returns the window whose sum over layers is largest; the first of equal ones.
std::size_t worst_window(const ExpertProblem& problem, const std::vector<double>& busiest);

// Returns the layers' values over windows: their mean, or those of window `worst`.
// `by_window`: [samples][layers].
std::vector<double> over_windows(const ExpertProblem& problem, const std::vector<double>& by_window,
                                 Over over, std::size_t worst);

// Returns the mean load per window and layer: [samples][layers].
std::vector<double> mean_times(const ExpertProblem& problem);

// Counts slots whose expert was not on their GPU in `old`: of a layer, and of all layers. O(slots *
// slots per GPU).
std::size_t count_layer_moves(const ExpertProblem& problem, const Expert* slots, const Expert* old);
std::size_t count_moves(const ExpertProblem& problem, const Placement& placement,
                        const Placement& old);

// Errors (kVerificationFailed, or `code`; `where` is a place under "/physical_to_logical"): a
// placement that is not [layers][slots]; an expert that does not exist, or has no slot.
Status check_slots(const ExpertProblem& problem, const Placement& placement, ErrorCode code);

// Returns true if a GPU holds an expert twice. `slots`: one layer. O(slots).
bool has_repeats(const ExpertProblem& problem, const Expert* slots);

// Errors (kVerificationFailed): two replicas of an expert on a GPU, a group on several nodes, or
// nodes with unequal numbers of groups, where the problem forbids it. `slots`: one layer, whose
// experts exist. O(slots).
Status check_layer(const ExpertProblem& problem, std::size_t layer, const Expert* slots);

}  // namespace shardwright::experts
