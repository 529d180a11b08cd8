// The branch-and-bound tree of a proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/branching.h"
#include "search/embedding/bound/domain_reduction.h"

namespace shardwright::embedding {

// A target is a rating; it is proved if no plan rates below it. A branch is valid for all targets,
// and a leaf that is proved for one target is proved for every lower target. So all targets share
// one tree: a target uses the leaves of earlier targets, and a tree that ran out of work continues
// where it stopped.
// Thread safety: const members may be called from any thread. Refers to its argument.
class BoundTree {
 public:
  using NodeId = std::uint32_t;
  static constexpr NodeId kNone = ~NodeId{0};

  explicit BoundTree(const BoundRows& rows) : rows_(&rows), nodes_(1) {}

  const ChoiceModel& model() const { return rows_->model(); }
  std::size_t size() const { return nodes_.size(); }
  // Leaves that are not proved for the target, in preorder.
  std::vector<NodeId> open_leaves(double target) const;
  // The fraction of the tree that is proved for the target. The root has weight 1, and a child half
  // the weight of its parent.
  // Source: Knuth, "Estimating the Efficiency of Backtrack Programs" (1975).
  double closed_part(double target) const;
  // The choices that a plan of the node can have if it rates below the target. O(depth x choices).
  Domain domain(NodeId node, double target, Budget& budget) const;

  // Records the proof that the leaf contains no plan below the target. `search_steps`: the steps of
  // the search, if `proof` is by search.
  void close(NodeId leaf, double target, BoundNode proof, std::uint64_t search_steps = 0);
  // Divides a leaf in two. `fixing`: the multipliers with which reduced-cost fixing removed choices
  // of the leaf for the target. Returns the first child; the second child has the next identifier.
  NodeId divide(NodeId leaf, double target, const Branch& branch, MultiplierList fixing);

  // The number of search steps that the check of the certificate repeats.
  std::uint64_t search_steps() const;
  // The nodes of a certificate for the target, in preorder. Precondition: open_leaves(target) is
  // empty.
  std::vector<BoundNode> certificate_nodes(double target) const;

 private:
  struct Node {
    NodeId parent = kNone;
    NodeId first_child = kNone;
    double part = 1;                 // weight in closed_part()
    Branch branch;                   // of an inner node
    MultiplierList fixing;           // of an inner node, valid up to the target `divided`
    double divided = 0;              // of an inner node: the target of its division
    double proved = 0;               // of a leaf: the highest proved target
    BoundNode proof;                 // of a leaf, for `proved`
    std::uint64_t search_steps = 0;  // of `proof`
  };

  template <class Visit>
  void visit_in_preorder(const Visit& visit) const;
  BoundNode inner_node(const Node& own, double target) const;

  const BoundRows* rows_;
  std::vector<Node> nodes_;
};

}  // namespace shardwright::embedding
