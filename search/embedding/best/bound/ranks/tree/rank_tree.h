// Branch and bound over the ranks of all shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/ranks/rank_domain.h"
#include "search/embedding/best/bound/ranks/rank_model.h"
#include "search/embedding/best/bound/ranks/rank_program.h"
#include "search/embedding/best/bound/ranks/tree/rank_branching.h"
#include "search/embedding/best/bound/ranks/tree/rank_lane.h"
#include "search/embedding/best/bound/ranks/tree/rank_nodes.h"
#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Grows in rounds. In a round, the open nodes of the lowest bounds are dealt out to lanes, and what
// these leave comes back. What is proved is the lowest bound of all open nodes, or the target. It
// depends on the work of the lanes, and not on the number of threads.
// Thread safety: run_lane() may be called concurrently for different lanes; everything else by one
// thread at a time. Not moved; keeps references to the model and the parameters.
class RankTree {
 public:
  // `prices`: multipliers by rank, which remove choices of the root. `known`: what divisions gained
  // in another tree of this model. Precondition: RankModel::is_possible().
  RankTree(const ChoiceModel& model, double target, const MultiplierList& prices,
           RankExperience known, const BoundParameters& parameters, Budget& budget);
  RankTree(const RankTree&) = delete;
  RankTree& operator=(const RankTree&) = delete;

  // Choices that the root leaves open, times ranks.
  std::uint64_t open_cells() const;
  double target() const { return target_; }
  // What was closed stays closed. Precondition: not above the target so far, and not in a round.
  void lower_target(double target) { target_ = target; }
  // Nothing is left to do: all is closed, or open nodes cannot be divided, or there are too many.
  bool has_ended() const { return open_.empty() || num_nodes_ >= parameters_.ranks.max_nodes; }

  void begin_round();
  // Of this round: the first ones have nodes.
  std::size_t num_busy_lanes() const { return num_busy_; }
  // Does about so much work.
  void run_lane(std::size_t lane, std::uint64_t work, Budget& budget);
  void end_round();

  // The following are not for within a round.
  std::size_t num_nodes() const { return num_nodes_; }
  // The part of the tree that is closed, if both children of a node are as large.
  double closed_part() const;
  // What the check of a certificate with all nodes that were visited would take.
  std::uint64_t check_steps() const;
  // No plan rates below this.
  double bound() const;
  // The highest bound up to that of which the check of a certificate takes about so many steps.
  double bound_within(std::uint64_t check_steps) const;
  // The proof of a bound up to bound().
  BoundCertificate certificate(double bound) const;
  // What its divisions gained.
  const RankExperience& known() const { return known_; }
  // The best plan that was found since the last call.
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }

 private:
  RankDomain reduced_root(const MultiplierList& prices, Budget& budget);
  RankLane& lane(std::size_t index);
  std::vector<const RankNode*> visited() const;

  const BoundParameters& parameters_;
  double target_;
  RankModel model_;
  MultiplierList root_fixing_;
  std::vector<OpenRankNode> open_;  // a heap: the lowest bound first
  RankProgram program_;             // of what the root leaves open; lanes copy it
  RankExperience known_;
  std::vector<std::unique_ptr<RankLane>> lanes_;
  std::size_t num_busy_ = 0;
  std::size_t num_nodes_ = 0;  // visited
  double stuck_bound_;         // the lowest one of nodes that cannot be divided
  std::optional<Plan> found_;
};

}  // namespace shardwright::embedding
