// Branch and bound over the ranks of all shards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/ranks/rank_branching.h"
#include "search/embedding/best/bound/ranks/rank_domain.h"
#include "search/embedding/best/bound/ranks/rank_model.h"
#include "search/embedding/best/bound/ranks/rank_program.h"
#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Every node is bounded by a linear program, and loses what no plan below the target has. It is
// divided by what strong branching and pseudocosts say. The node of the lowest bound comes next,
// then one of its children, until both are closed. What is proved is the lowest bound of all open
// nodes, or the target.
// Thread safety: one thread at a time. Not moved; keeps references to the model and the parameters.
class RankTree {
 public:
  // `prices`: multipliers by rank, which remove choices of the root. Precondition:
  // RankModel::is_possible().
  RankTree(const ChoiceModel& model, double target, const MultiplierList& prices,
           const BoundParameters& parameters, Budget& budget);
  RankTree(const RankTree&) = delete;
  RankTree& operator=(const RankTree&) = delete;

  // Choices that the root leaves open, times ranks.
  std::uint64_t open_cells() const;
  double target() const { return target_; }
  // What was closed stays closed. Precondition: not above the target so far.
  void lower_target(double target) { target_ = target; }
  // Nothing is left to do: all is closed, or open nodes cannot be divided, or there are too many.
  bool has_ended() const { return nodes_.size() >= parameters_.ranks.max_nodes || !has_next(); }
  // Visits one node. Precondition: it has not ended.
  void step(Budget& budget);

  // No plan rates below this. O(open nodes).
  double bound() const;
  // The proof of that.
  BoundCertificate certificate() const;
  // The best plan that was found since the last call.
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }

 private:
  using NodeId = std::uint32_t;
  static constexpr NodeId kNone = ~NodeId{0};

  struct Node {
    NodeId parent = kNone;
    NodeId first_child = kNone;
    double bound = 0;  // of the multipliers, or of the parent
    RankDivision division;
    MultiplierList fixing;
    std::vector<CapacityMultipliers> multipliers;  // of a visited node
  };
  struct Open {
    NodeId node = 0;
    RankDomain domain;
    RankProgram::Basis basis;
  };

  RankDomain reduced_root(const MultiplierList& prices, Budget& budget);
  bool has_next() const { return !dive_.empty() || !open_.empty(); }
  Open take_next();
  bool is_later(const Open& a, const Open& b) const;
  void put_off(Open open);
  bool is_closed(Open& open, Budget& budget);
  bool is_bounded(Open& open, Budget& budget);
  struct Solution {
    bool is_solved = false;
    std::vector<CapacityMultipliers> multipliers;
    double bound = 0;  // that they show
  };
  Solution solve(const RankDomain& domain, Budget& budget);
  std::vector<ClassSet> named_ranks(NodeId node) const;
  void divide(Open open, Budget& budget);
  struct Selected {
    RankCandidate candidate;
    std::array<double, 2> gains{};
  };
  Selected choose(const Open& open, std::vector<RankCandidate> candidates, Budget& budget);
  std::array<double, 2> try_out(const Open& open, const RankCandidate& candidate, Budget& budget);
  void look_for_plan(const RankDomain& domain, Budget& budget);
  BoundNode certificate_node(const Node& node) const;

  const BoundParameters& parameters_;
  double target_;
  RankModel model_;
  std::vector<Node> nodes_;
  std::vector<Open> open_;     // a heap: the lowest bound first
  std::vector<Open> dive_;     // the last is next
  std::vector<NodeId> stuck_;  // open, but not to be divided
  RankProgram program_;        // of what the root leaves open
  RankBranching branching_;
  std::optional<Plan> found_;
};

}  // namespace shardwright::embedding
