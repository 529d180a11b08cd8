// The smallest step of a change that makes a problem feasible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/embedding/explain/fit_oracle.h"

namespace shardwright {

struct FoundStep {
  std::int64_t step = 0;  // fits; one less does not
  Fit fit;
  bool less_is_impossible = false;  // proved; otherwise planning as asked for finds nothing
};

// Asks `fit_of(step, effort)` for steps in 1..most; step 0 is the problem as it is, of which
// nothing was found. Feasibility grows with the steps or nearly so: first the steps that are proved
// impossible are halved away, then planning with little work brackets the answer, and planning with
// more and more takes it down as far as it finds plans. Empty where not even `most` fits.
// Cost: O(log most) brief plannings, and mostly one or two longer ones.
template <class FitOf>
class StepSearch {
 public:
  StepSearch(std::int64_t most, bool quick_is_full, const FitOf& fit_of)
      : most_(most), first_(quick_is_full ? Effort::kFull : Effort::kBrief), fit_of_(fit_of) {}

  std::optional<FoundStep> run() {
    if (most_ < 1 || impossible(most_)) return std::nullopt;
    find_impossible();
    if (!gallop_up()) return std::nullopt;
    halve(first_);
    for (const Effort effort : {Effort::kQuick, Effort::kFull}) {
      if (effort <= first_) continue;
      gallop_down(effort);
      halve(effort);
    }
    if (stopped_) return std::nullopt;
    return FoundStep{fits_, std::move(fit_), fits_ - 1 <= impossible_ && fits_ > 1};
  }

  bool stopped() const { return stopped_; }

 private:
  bool impossible(std::int64_t step) { return fit_of_(step, Effort::kProof).impossible(); }

  // The largest step that is proved impossible, 0 = none.
  void find_impossible() {
    if (!impossible(1)) return;
    impossible_ = 1;
    std::int64_t open = most_;
    while (open - impossible_ > 1) {
      const std::int64_t middle = impossible_ + (open - impossible_) / 2;
      (impossible(middle) ? impossible_ : open) = middle;
    }
    fails_ = impossible_;
  }

  bool ask(std::int64_t step, Effort effort) {
    Fit fit = fit_of_(step, effort);
    stopped_ = stopped_ || fit.answer == Fit::Answer::kStopped;
    if (fit.fits()) {
      fits_ = step;
      fit_ = std::move(fit);
      return true;
    }
    fails_ = step;
    if (fit.impossible()) impossible_ = std::max(impossible_, step);
    return false;
  }

  bool gallop_up() {
    for (std::int64_t stride = 1; !stopped_; stride *= 2) {
      const std::int64_t step = std::min(fails_ + stride, most_);
      if (ask(step, first_)) return true;
      if (step < most_) continue;
      return first_ != Effort::kFull && (ask(most_, Effort::kQuick) || ask(most_, Effort::kFull));
    }
    return false;
  }

  void halve(Effort effort) {
    while (fits_ - fails_ > 1 && !stopped_)
      ask(fails_ + (fits_ - fails_) / 2, effort);
  }

  // A longer search may find more.
  void gallop_down(Effort effort) {
    fails_ = impossible_;
    for (std::int64_t stride = 1; fits_ - impossible_ > 1 && !stopped_; stride *= 2) {
      if (!ask(std::max(fits_ - stride, impossible_ + 1), effort)) return;
    }
  }

  std::int64_t most_;
  Effort first_;
  const FitOf& fit_of_;
  std::int64_t impossible_ = 0;
  std::int64_t fails_ = 0;
  std::int64_t fits_ = 0;
  Fit fit_;
  bool stopped_ = false;
};

}  // namespace shardwright
