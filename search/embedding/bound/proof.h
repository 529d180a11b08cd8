// The state of the proof, and the interface of the methods that raise its bound.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/shared_tree.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

// The work of a method that may take long, and of all other methods together. The method begins
// only once the others had as much work, because a cheaper method may prove the goal first.
// Thread safety: a value.
struct WorkShare {
  std::uint64_t own = 0;
  std::uint64_t others = 0;

  bool allows(std::uint64_t next) const { return own + next <= others; }
};

// The state that all methods of a proof share: the bound with its certificate, the rating of the
// best known plan, and starts that the methods suggest to the search for plans.
// Thread safety: one thread at a time. Refers to the model and to its pool.
class Proof {
 public:
  Proof(const ChoiceModel& model, const BoundParameters& parameters);
  Proof(const Proof&) = delete;
  Proof& operator=(const Proof&) = delete;

  const BoundParameters& parameters() const { return parameters_; }
  SharedTrees& shared_trees() { return shared_trees_; }
  const SharedTrees& shared_trees() const { return shared_trees_; }
  // The model of the proof: the given model, or its for_bounds() if there are placement rules.
  const ChoiceModel& model() const { return shared_trees_.model(); }

  // The rating of the best known plan; 0 before there is a plan.
  double rating() const { return rating_; }
  void set_rating(double rating) { rating_ = rating; }
  // The target that proves the best known plan optimal.
  double goal() const {
    return rating_ * (1 - parameters_.targets.goal_in_gap * parameters_.optimality_gap);
  }
  // Bisection ends when its interval is shorter than this.
  double least_step() const { return parameters_.targets.root_step * rating_; }
  // Returns true if the rating is below `rating` by more than the fraction
  // BoundParameters::rating_fall.
  bool fell_below(double rating) const {
    return rating_ < rating * (1 - BoundParameters::kRatingFall);
  }

  double bound() const { return certificate_.bound; }
  bool proves(double rating) const { return bound() >= rating * (1 - parameters_.optimality_gap); }
  const BoundCertificate& certificate() const { return certificate_; }
  // Continues from a certificate that check_bound() has accepted.
  void begin_from(const BoundCertificate& proved) {
    if (proved.bound > bound()) certificate_ = proved;
  }
  // Records a proof that no plan rates below `bound`, if this raises the bound. `nodes`: the nodes
  // of its certificate; `by_search`: see BoundCertificate.
  void accept(double bound, const RankClasses& classes, std::vector<BoundNode> nodes,
              bool by_search = false);

  // Suggests a start for the search for plans: choices, perhaps with ranks, that may lead to a plan
  // below `target`. Methods call it when they could not prove the target.
  void suggest(Allocation start, double target);
  // Returns the newest suggestions since the last call, at most eight, with choices of model().
  std::vector<SuggestedStart> take_suggestions() { return std::exchange(suggestions_, {}); }
  // Records a plan below a target, which a search found instead of a proof.
  void find(std::optional<Plan> plan) {
    if (plan) found_ = std::move(plan);
  }
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }

 private:
  BoundParameters parameters_;
  SharedTrees shared_trees_;
  BoundCertificate certificate_;
  double rating_ = 0;
  std::vector<SuggestedStart> suggestions_;
  std::optional<Plan> found_;
};

// A method that raises the bound in steps. BoundProver::next_method() chooses the next method.
// Thread safety: one thread at a time.
class BoundMethod {
 public:
  virtual ~BoundMethod() = default;

  virtual bool goes_on() const { return false; }
  // Returns true if the method may begin now, even if other methods have more to try.
  virtual bool is_due(const Proof& proof) const = 0;
  // Returns true if the method has something to try, now or after all other methods have ended.
  virtual bool has_more(const Proof& proof) const { return is_due(proof); }
  // Precondition: goes_on() or has_more().
  virtual void step(Proof& proof, Budget& budget) = 0;
  // Tells the method how much work another method has spent.
  virtual void note_others(std::uint64_t) {}
};

}  // namespace shardwright::embedding
