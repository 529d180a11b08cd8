// The proof of a lower bound: the list of methods and their lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/aggregate_bound.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/branch_and_price.h"
#include "search/embedding/bound/proof.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

// Computes the aggregate bound of the root node, and again whenever the rating of the best plan has
// fallen by BoundParameters::rating_fall.
// Thread safety: one thread at a time.
class AggregateMethod final : public BoundMethod {
 public:
  bool is_due(const Proof& proof) const override { return proof.fell_below(rating_); }
  void step(Proof& proof, Budget& budget) override {
    rating_ = proof.rating();
    const BoundRows& rows = proof.shared_trees().tree_of(HostClasses::kJoint).rows();
    const Domain everywhere(proof.model().choices().size(), rows.classes().everywhere());
    AggregateBound found =
        aggregate_bound(rows, rating_, everywhere, proof.parameters().aggregate, budget);
    BoundNode leaf;
    leaf.multipliers = std::move(found.multipliers);
    proof.accept(std::min(found.bound, rating_), rows.classes(), {leaf});
  }

 private:
  double rating_ = std::numeric_limits<double>::infinity();  // at which the last bound was computed
};

// Proves a lower bound of the rating of every plan and raises this bound step by step, with a list
// of methods. See README.md in this folder.
//
// A lane is a worker of the proof. The first lane works alone until a tree of branch and price
// becomes large. Then all lanes share the open leaves of the tree: in every round each lane works
// on its own leaves, and begin_round() gives leaves to idle lanes. The result depends on the `work`
// of every call, but not on the number of threads.
// Thread safety: run_lane() may be called concurrently for different lanes; all other members
// belong to one thread at a time.
class BoundProver {
 public:
  // Keeps a reference to the model and to its pool.
  explicit BoundProver(const ChoiceModel& model, const BoundParameters& parameters = {});
  BoundProver(const BoundProver&) = delete;
  BoundProver& operator=(const BoundProver&) = delete;

  // Spends about `work` units of the budget. `rating`: the rating of the best known plan, which
  // must not rise from call to call. Returns early if finished().
  void run(std::uint64_t work, double rating, Budget& budget);

  // Instead of run(): rounds of begin_round(), at most one run_lane() per lane, and end_round().
  std::size_t num_lanes() const { return proof_.parameters().targets.tree_lanes; }
  void begin_round(double rating);
  // Returns true if all lanes have work in this round, and false if only the first lane has work.
  bool is_shared() const { return shared() != nullptr; }
  void run_lane(std::size_t lane, std::uint64_t work, Budget& budget);
  void end_round();

  // Continues from a certificate that check_bound() has accepted. Must be the first call.
  void begin_from(const BoundCertificate& proved) { proof_.begin_from(proved); }

  double bound() const { return proof_.bound(); }
  const BoundCertificate& certificate() const { return proof_.certificate(); }
  // Returns true if a plan of this rating is optimal to within the optimality gap.
  bool proves(double rating) const { return proof_.proves(rating); }
  // Returns true if the last rating is proved or nothing is left to try.
  bool finished() const { return finished_; }
  // The model of the proof: the given model, or its for_bounds() if there are placement rules.
  const ChoiceModel& model() const { return proof_.model(); }

  // The tree that lanes share in this round; null if there is none.
  const SharedTree* shared() const {
    return branch_and_price_ ? branch_and_price_->shared() : nullptr;
  }

  std::vector<SuggestedStart> take_suggestions() { return proof_.take_suggestions(); }
  std::optional<Plan> take_found() { return proof_.take_found(); }

 private:
  void run_alone(std::uint64_t work, Budget& budget);
  BoundMethod* next_method() const;
  void tell_others(const BoundMethod& own, std::uint64_t work);

  Proof proof_;
  std::vector<std::unique_ptr<BoundMethod>> methods_;  // the first method that is due runs next
  BranchAndPrice* branch_and_price_ = nullptr;         // in methods_; null if this method is off
  bool finished_ = false;
};

}  // namespace shardwright::embedding
