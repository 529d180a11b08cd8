// The aggregate Lagrangian bound as a method of the proof.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "search/embedding/best/bound/relaxation/aggregate_bound.h"
#include "search/embedding/best/bound/tree/proof.h"

namespace shardwright::embedding {

// The bound of the root, again whenever the rating has fallen.
// Thread safety: one thread at a time.
class AggregateMethod final : public BoundMethod {
 public:
  bool is_due(const Proof& proof) const override { return proof.fell_below(rating_); }
  void step(Proof& proof, Budget& budget) override {
    rating_ = proof.rating();
    const BoundRows& rows = proof.views().view(RankView::kJoint).rows();
    const Domain everywhere(proof.model().choices().size(), rows.classes().everywhere());
    AggregateBound found =
        aggregate_bound(rows, rating_, everywhere, proof.parameters().aggregate, budget);
    BoundNode leaf;
    leaf.multipliers = std::move(found.multipliers);
    proof.accept(std::min(found.bound, rating_), rows.classes(), {leaf});
  }

 private:
  double rating_ = std::numeric_limits<double>::infinity();  // of the last bound
};

}  // namespace shardwright::embedding
