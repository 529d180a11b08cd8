#include "search/embedding/best/bound/uniform_trees.h"

#include <algorithm>

namespace shardwright::embedding {

bool UniformTargets::has_next(const TargetRange& range) const {
  if (suggests(range) || goes_on(range)) return true;
  return work_of(effort_) < parameters_.most_work &&
         std::min(stuck_, range.goal) - range.bound > range.least_step;
}

std::uint64_t UniformTargets::next_work(const TargetRange& range) const {
  return work_of(suggests(range) || goes_on(range) ? effort_ : effort_ + 1);
}

// With the same effort.
bool UniformTargets::goes_on(const TargetRange& range) const {
  return effort_ > 0 && cut_short_ < parameters_.most_cut_short &&
         std::min(ceiling_, range.goal) - range.bound > range.least_step;
}

bool UniformTargets::suggests(const TargetRange& range) const {
  return suggestions_left_ > 0 && range.goal - stuck_ > range.least_step;
}

std::uint64_t UniformTargets::work_of(std::uint32_t effort) const {
  std::uint64_t work = parameters_.work;
  for (std::uint32_t e = 1; e < effort && work < parameters_.most_work; ++e)
    work *= parameters_.work_growth;
  return std::min(work, parameters_.most_work);
}

double UniformTargets::next(const TargetRange& range) {
  is_suggesting_ = suggests(range);
  if (is_suggesting_) {
    --suggestions_left_;
    // A plan below the last target is a new goal.
    if (suggested_ >= range.goal) suggested_ = stuck_;
    return suggested_ = (suggested_ + range.goal) / 2;
  }
  if (!goes_on(range)) {
    ++effort_;
    ceiling_ = stuck_;
    cut_short_ = 0;
  }
  ceiling_ = std::min(ceiling_, range.goal);
  return (range.bound + ceiling_) / 2;
}

void UniformTargets::fail(double target, bool is_stuck) {
  ceiling_ = target;
  if (is_stuck) {
    stuck_ = target;
    suggested_ = target;
    suggestions_left_ = parameters_.suggestions;
  } else {
    ++cut_short_;
  }
}

void UniformTrees::step(Proof& proof, Budget& budget) {
  if (tree_.is_active() && tree_.target() > proof.rating()) tree_.abandon();  // a better plan came
  if (!tree_.is_active()) {
    if (!has_more(proof)) return;
    const double target = targets_.next(range_of(proof));
    tree_.begin(target, targets_.work(), !targets_.is_suggesting());
  }
  const std::uint64_t before = budget.work_done();
  if (!tree_.has_ended()) tree_.step(budget);
  share_.own += budget.work_done() - before;
  if (!tree_.has_ended()) return;
  if (tree_.is_proved()) {
    proof.accept(tree_.target(), tree_.classes(), tree_.certificate_nodes());
  } else {
    if (!targets_.is_suggesting()) targets_.fail(tree_.target(), tree_.is_stuck());
    proof.suggest(tree_.take_suggestion(budget), tree_.target());
  }
  tree_.abandon();
}

}  // namespace shardwright::embedding
