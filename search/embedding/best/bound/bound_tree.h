// The branch-and-bound tree that proves one target.
#pragma once

#include <cstddef>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/embedding/best/bound/branching.h"
#include "search/embedding/best/bound/model/bound_rows.h"

namespace shardwright::embedding {

// Depth first, first child first: the nodes of the certificate come in preorder.
// Thread safety: one thread at a time.
class BoundTree {
 public:
  // Starts with the choices that are possible below the target as the root.
  void begin(const BoundRows& rows, double target);
  void clear() { open_.clear(); }

  // Returns true if nothing is open: the leaves then prove the target.
  bool is_closed() const { return open_.empty(); }
  // Takes the next open node; domain() is then its domain.
  void visit_next();
  const Domain& domain() const { return domain_; }
  std::size_t num_visited() const { return num_visited_; }

  // Close or divide the node that was visited last.
  void add_leaf(BoundNode leaf) { nodes_.push_back(std::move(leaf)); }
  void divide(const ChoiceModel& model, const Branch& branch);

  // The proof. Precondition: is_closed().
  std::vector<BoundNode> take_nodes() { return std::move(nodes_); }

 private:
  std::vector<Domain> open_;  // the last is next
  Domain domain_;
  std::vector<BoundNode> nodes_;
  std::size_t num_visited_ = 0;
};

}  // namespace shardwright::embedding
