// The trees that divide what uniform choices use, as a method of the proof.
#pragma once

#include <cstdint>
#include <limits>

#include "search/embedding/best/bound/tree/proof.h"
#include "search/embedding/best/bound/tree/uniform_tree.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// What a target is chosen for.
struct TargetRange {
  double bound = 0;       // that is proved
  double goal = 0;        // the target that would prove the rating optimal
  double least_step = 0;  // of bisection
};

// Bisection between the proved bound and the lowest target that failed. It begins again with more
// work for a target. A target at which nothing was left to divide is not tried again: more work
// would not help. But there may be a plan between it and the goal, so a few targets follow that are
// only to suggest one: halfway to the goal, again and again.
// Thread safety: one thread at a time. Refers to its argument.
class UniformTargets {
 public:
  explicit UniformTargets(const UniformTreeParameters& parameters) : parameters_(parameters) {}

  // Returns true if a target is to be tried.
  bool has_next(const TargetRange& range) const;
  // Work for the target that comes next, if there is one.
  std::uint64_t next_work(const TargetRange& range) const;
  // Precondition: has_next().
  double next(const TargetRange& range);
  // Returns true if the target that was chosen last is only to suggest a plan.
  bool is_suggesting() const { return is_suggesting_; }
  // Work for the target that was chosen last.
  std::uint64_t work() const { return work_of(effort_); }
  // `is_stuck`: nothing was left to divide. Otherwise there was not enough work. Precondition: it
  // was not to suggest a plan only.
  void fail(double target, bool is_stuck);

 private:
  std::uint64_t work_of(std::uint32_t effort) const;
  bool suggests(const TargetRange& range) const;
  bool goes_on(const TargetRange& range) const;

  const UniformTreeParameters& parameters_;
  std::uint32_t effort_ = 0;
  double ceiling_ = 0;  // the lowest target that failed with this effort
  double stuck_ = std::numeric_limits<double>::infinity();  // ... with nothing left to divide
  std::uint32_t cut_short_ = 0;                             // targets, with this effort
  bool is_suggesting_ = false;
  std::uint32_t suggestions_left_ = 0;
  double suggested_ = 0;  // the last such target, or the one before them
};

// Thread safety: one thread at a time. Refers to the proof.
class UniformTrees final : public BoundMethod {
 public:
  // Precondition: may_help().
  explicit UniformTrees(const Proof& proof)
      : tree_(proof.model(), proof.parameters()), targets_(proof.parameters().uniform) {}
  static bool may_help(const Proof& proof) {
    return RankClasses::can_be_apart(proof.model(), proof.parameters().classes);
  }

  bool goes_on() const override { return tree_.is_active(); }
  bool is_due(const Proof& proof) const override {
    return has_more(proof) && share_.allows(targets_.next_work(range_of(proof)));
  }
  bool has_more(const Proof& proof) const override { return targets_.has_next(range_of(proof)); }
  void step(Proof& proof, Budget& budget) override;
  void note_others(std::uint64_t work) override { share_.others += work; }

 private:
  static TargetRange range_of(const Proof& proof) {
    return {proof.bound(), proof.goal(), proof.least_step()};
  }

  UniformTree tree_;
  UniformTargets targets_;
  WorkShare share_;
};

}  // namespace shardwright::embedding
