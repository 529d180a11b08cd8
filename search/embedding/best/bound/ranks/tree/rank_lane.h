// One of the lanes that share a tree over ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/search/find_plan.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/ranks/rank_model.h"
#include "search/embedding/best/bound/ranks/rank_program.h"
#include "search/embedding/best/bound/ranks/tree/rank_branching.h"
#include "search/embedding/best/bound/ranks/tree/rank_nodes.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Visits nodes that nobody else has: it bounds them by a linear program of its own, removes what no
// plan below the target has, and divides them. The node of the lowest bound comes next, then one of
// its children, until both are closed.
// Thread safety: one thread at a time; lanes of a tree are independent. Refers to its arguments.
class RankLane {
 public:
  // `program`: of the root; `known`: what all lanes have learned. Both are only read.
  RankLane(std::uint32_t index, const RankModel& model, const RankProgram& program,
           const RankExperience& known, const BoundParameters& parameters);
  RankLane(const RankLane&) = delete;
  RankLane& operator=(const RankLane&) = delete;

  void add(OpenRankNode open);
  bool is_idle() const { return dive_.empty() && open_.empty(); }
  // Works until it is idle, has done about so much work or has visited so many nodes. What is
  // closed has no plan below the target.
  void run(double target, std::uint64_t work, std::size_t most_nodes, Budget& budget);

  // All that it has visited.
  const std::vector<RankNode>& nodes() const { return nodes_; }
  // The part of the tree that it has closed.
  double closed_part() const { return closed_part_; }
  // What the check of a certificate with all of them would take.
  std::uint64_t check_steps() const { return check_steps_; }
  // The lowest bound of those that stay open, as nothing divides them; infinite if there are none.
  double stuck_bound() const { return stuck_bound_; }
  // Below the last one, if it found a plan.
  double target() const { return target_; }

  // What is left to visit, and what is new since the last call.
  std::vector<OpenRankNode> take_open();
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }
  RankExperience take_learned() { return branching_.take_learned(); }

 private:
  // What is known of a node while it is visited.
  struct Visit {
    RankNode node;
    double part = 0;                               // of the tree
    DividedRankNode left;                          // what it leaves to children
    std::vector<CapacityMultipliers> multipliers;  // of the last solution
  };
  struct Solution {
    bool is_solved = false;
    std::vector<CapacityMultipliers> multipliers;
    double bound = 0;  // that they show
  };
  struct Selected {
    RankCandidate candidate;
    std::array<double, 2> gains{};
  };

  OpenRankNode take_next();
  void visit(const OpenRankNode& open, Budget& budget);
  bool is_closed(Visit& at, Budget& budget);
  std::uint64_t walk_of(const RankDomain& domain) const;
  bool remove_counted(Visit& at, Budget& budget) const;
  bool is_excluded(Visit& at, Budget& budget);
  FoundPlan search(const PlaceDomain& places, const std::vector<CapacityMultipliers>& prices,
                   double improvement, std::uint64_t steps, Budget& budget);
  bool is_bounded(Visit& at, Budget& budget);
  Solution solve(const RankDomain& domain, Budget& budget);
  void divide(Visit& at, Budget& budget);
  void add_children(const RankNode& node, double part, DividedRankNode left,
                    const std::array<double, 2>& gains);
  Selected choose(const Visit& at, std::vector<RankCandidate> candidates, Budget& budget);
  std::array<double, 2> try_out(const Visit& at, const RankCandidate& candidate, Budget& budget);
  void look_for_plan(const RankDomain& domain, Budget& budget);
  void take_best_plan(const PlaceDomain& places, const std::vector<CapacityMultipliers>& prices,
                      Budget& budget);
  double enough() const;
  // What is left to gain, in units of the model's target.
  double gap(double bound) const { return (target_ - bound) / model_.target(); }

  std::uint32_t index_;
  const RankModel& model_;
  const BoundParameters& parameters_;
  double target_;
  RankProgram program_;
  RankBranching branching_;
  std::vector<RankNode> nodes_;
  std::uint64_t check_steps_ = 0;
  double closed_part_ = 0;
  std::vector<OpenRankNode> open_;  // a heap: the lowest bound first
  std::vector<OpenRankNode> dive_;  // the last is next
  double stuck_bound_;
  std::optional<Plan> found_;
  bool has_excluded_ = false;  // a node, by search
  double searched_bits_;       // nodes with more open places are not searched
};

}  // namespace shardwright::embedding
