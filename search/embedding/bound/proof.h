// What is proved so far, and the interface of the methods that prove more.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/tree_view.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

// A method that may take long waits until all others had as much work: one of those may prove the
// goal at once.
// Thread safety: a value.
struct WorkShare {
  std::uint64_t own = 0;
  std::uint64_t others = 0;

  bool allows(std::uint64_t next) const { return own + next <= others; }
};

// The bound with its certificate, the rating that it is to reach, and what the search may use.
// Thread safety: one thread at a time. Refers to the model and to its pool.
class Proof {
 public:
  Proof(const ChoiceModel& model, const BoundParameters& parameters);
  Proof(const Proof&) = delete;
  Proof& operator=(const Proof&) = delete;

  const BoundParameters& parameters() const { return parameters_; }
  RankViews& views() { return views_; }
  const RankViews& views() const { return views_; }
  // What is proved about: the model that was given, or one without placement rules.
  const ChoiceModel& model() const { return views_.model(); }

  // Of the best plan known; 0 before there is one.
  double rating() const { return rating_; }
  void set_rating(double rating) { rating_ = rating; }
  // The target that would prove the rating optimal.
  double goal() const {
    return rating_ * (1 - parameters_.targets.goal_in_gap * parameters_.optimality_gap);
  }
  // Targets of bisection are no closer to each other than this.
  double least_step() const { return parameters_.targets.root_step * rating_; }
  // Returns true if the rating is this much below the one that a method saw last.
  bool fell_below(double rating) const { return rating_ < rating * (1 - parameters_.rating_fall); }

  double bound() const { return certificate_.bound; }
  bool proves(double rating) const { return bound() >= rating * (1 - parameters_.optimality_gap); }
  const BoundCertificate& certificate() const { return certificate_; }
  // Goes on from a proof that the check of core has accepted.
  void begin_from(const BoundCertificate& proved) {
    if (proved.bound > bound()) certificate_ = proved;
  }
  // No plan rates below `bound`, as the nodes of a certificate show. Kept if that is more than is
  // proved.
  void accept(double bound, const RankClasses& classes, std::vector<BoundNode> nodes,
              bool by_search = false);

  // Choices, perhaps with ranks, for a plan below the target that a method could not exclude.
  void suggest(Allocation start, double target);
  // Of the last few targets since the last call, in terms of the model that was given.
  std::vector<SuggestedStart> take_suggestions() { return std::exchange(suggestions_, {}); }
  // A plan below a target that was found instead of a proof.
  void find(std::optional<Plan> plan) {
    if (plan) found_ = std::move(plan);
  }
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }

 private:
  BoundParameters parameters_;
  RankViews views_;
  BoundCertificate certificate_;
  double rating_ = 0;
  std::vector<SuggestedStart> suggestions_;
  std::optional<Plan> found_;
};

// A method that raises the bound, a step at a time. A method that has begun with a target goes on
// until that is decided; otherwise the first one of the prover's list that is due comes next.
// Thread safety: one thread at a time.
class BoundMethod {
 public:
  virtual ~BoundMethod() = default;

  virtual bool goes_on() const { return false; }
  // Returns true if it may begin now, beside other methods that have more to try.
  virtual bool is_due(const Proof& proof) const = 0;
  // Returns true if something is left to try for the rating, now or once all others have ended.
  virtual bool has_more(const Proof& proof) const { return is_due(proof); }
  // Precondition: it goes on or has more.
  virtual void step(Proof& proof, Budget& budget) = 0;
  // The other methods did so much work.
  virtual void note_others(std::uint64_t) {}
};

}  // namespace shardwright::embedding
