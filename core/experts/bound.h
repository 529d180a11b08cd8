// Lower bounds on the time of a layer's busiest GPU, whatever the placement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/experts/expert_plan.h"
#include "core/experts/expert_problem.h"

namespace shardwright::experts {

// Asked now and then by functions that take long; empty = never stop.
using IsStopped = std::function<bool()>;

// Experts that share GPUs: those of a layer, or those of a node's groups. Thread safety: a value.
struct Pool {
  std::vector<Expert> experts;  // by falling load, then number
  std::vector<double> loads;    // of `experts`
  std::size_t num_gpus = 1;
  std::size_t slots_per_gpu = 1;
  bool forbids_repeats = true;
  double all_speeds = 1;  // sum over GPUs
  double top_speed = 1;

  std::size_t num_slots() const { return num_gpus * slots_per_gpu; }
};

// Sets of groups, bit g for group g.
using GroupSet = std::uint32_t;

// Returns the pool of a whole layer. O(experts log experts).
Pool layer_pool(const ExpertProblem& problem, std::size_t sample, std::size_t layer);
// Returns the pool of one node that holds these groups.
Pool node_pool(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
               GroupSet groups);

// Returns the pool of these experts on the GPUs of one of `num_nodes` nodes.
Pool expert_pool(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                 std::vector<Expert> experts, std::size_t num_nodes);

// Returns the load of all experts over the speed of all GPUs.
double mean_time(const Pool& pool);

// Returns a lower bound that follows from the number of slots (rule kShares), or the mean if this
// is larger. Assume that all GPUs stay below T. Then expert e with load w needs n_e = ceil(w / (T -
// m)) replicas, where m is the least that other replicas add on a GPU: the sum of the k - 1
// smallest w / (n_e + spare), for k slots per GPU and `spare` slots beyond the sum of all n_e.
// Repeats from m = 0 until m is stable; a negative spare refutes T. O(experts) per T, about 60
// values of T.
double shares_bound(const Pool& pool);

// Returns true if best_groups() and place_layer_below() can list all ways to give groups to nodes.
bool lists_groups(const ExpertProblem& problem);

// Gives groups to nodes, so that the largest shares_bound() of a node is least.
struct GroupChoice {
  double bound = 0;
  std::vector<GroupSet> nodes;
};
// Tries all ways. Returns no nodes if there are no groups to keep or too many ways, or if stopped.
GroupChoice best_groups(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                        const IsStopped& is_stopped = {});

// Thread safety: a value.
struct LayerBound {
  double value = 0;
  BoundRule rule = BoundRule::kMean;
};
// Returns the best of the mean, the shares and the groups (the first of equal ones, up to
// rounding). `groups`: the result of best_groups(), or nothing to leave groups out.
LayerBound layer_bound(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                       const GroupChoice& groups);

// The same of a layer with several windows: the mean of their bounds, or the bound of window
// `worst`. If stopped, leaves groups out.
LayerBound windows_bound(const ExpertProblem& problem, std::size_t layer, Over over,
                         std::size_t worst, const IsStopped& is_stopped = {});

// What trying all placements of a pool or layer found.
struct Trial {
  enum class End : std::uint8_t { kFound, kNone, kOutOfWork };
  End end = End::kOutOfWork;
  std::vector<Expert> slots;  // if found
};
// Looks for a placement with all times below `limit`. Chooses the number of replicas of every
// expert, then fills one GPU after another, beginning with the largest replica that is left; drops
// a GPU whose unused time exceeds what all GPUs together may leave. Nodes with groups are filled
// one by one. `work`: GPUs that may be filled; counts down, to 0 if stopped. Precondition:
// lists_groups(). Exponential, for about 20 slots.
Trial place_layer_below(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                        double limit, std::uint64_t& work, const IsStopped& is_stopped = {});

// Choices that a proof by trying makes at most.
inline constexpr std::uint64_t kTrialWork = 400'000;
// Slots of a layer up to which a proof by trying may succeed.
inline constexpr std::size_t kMostTriedSlots = 24;

// What a plan is checked against, beside the problem.
struct PlanTerms {
  Over over = Over::kMean;
  Placement old;                // empty without an old placement
  double migration_weight = 0;  // time per moved slot
  Placement eplb;               // EPLB's placement
};

// Returns the problem of a layer: GPUs may hold an expert twice where they do so in the layer's old
// placement or in EPLB's, because a plan may keep the old one and must not be worse than EPLB's.
ExpertProblem layer_problem(const ExpertProblem& problem, const PlanTerms& terms, std::size_t layer,
                            const Expert* slots);

// Recomputes what `plan` says of the problem. Errors (kVerificationFailed, `where` is a member of a
// plan): those of check_slots() and check_layer(); loads, bounds, objective or moves that differ
// from the placement's; a bound that its rule does not prove; `proven_optimal` that does not
// follow.
Status check_plan(const ExpertProblem& problem, const ExpertPlan& plan, const PlanTerms& terms);

}  // namespace shardwright::experts
