// Answers whether a problem has a plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "search/budget.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/questions/memory_shortage.h"

namespace shardwright::embedding {

struct Fit {
  enum class Answer : std::uint8_t {
    kFits,        // planning found a plan that the verifier accepts
    kImpossible,  // proved to have no plan
    kNotFound,
    kStopped,  // by the deadline or on request
  };
  Answer answer = Answer::kNotFound;
  std::shared_ptr<const Problem> problem;           // null if the spec is invalid
  std::shared_ptr<const SearchSpace> search_space;  // null if not enumerated
  std::optional<Reservation> reservation;           // absent if reserving failed
  std::optional<MemoryShortage> shortage;           // the proof, if memory is the reason
  std::string why;                                  // for kImpossible without `shortage`
  std::optional<Plan> plan;                         // the first plan that was found
  double rating = 0;                                // of the plan

  bool fits() const { return answer == Answer::kFits; }
  bool impossible() const { return answer == Answer::kImpossible; }
};

// How long to search for a plan if there is no proof of kImpossible.
enum class Effort : std::uint8_t {
  kProof,  // does not search
  kBrief,  // in best mode, a hundredth of the full work
  kQuick,  // in best mode, a tenth of the full work
  kFull,   // all work that the caller's options allow
};

// Answers whether a problem has a plan: tries to prove that memory does not suffice, and otherwise
// asks a planner.
// Thread safety: one thread at a time.
class FitOracle {
 public:
  // Searches for any plan of `fit.problem` in `fit.search_space`. Sets `answer`; for kFits also
  // `plan` and `rating`, for kImpossible also `why`.
  using Planner = std::function<void(Effort effort, Fit& fit)>;

  // `quick_is_full`: the planner ignores the effort and always searches fully.
  FitOracle(Planner planner, bool quick_is_full, std::stop_token stop);

  // Answers whether the problem has a plan. If `space` is given, takes options and costs from it;
  // its problem may differ from `spec` only in memory. After a stop request the answer is kStopped,
  // and other members may be absent.
  Fit ask(ProblemSpec spec, Effort effort, std::shared_ptr<const SearchSpace> space = nullptr);

  bool quick_is_full() const { return quick_is_full_; }
  std::uint64_t plannings() const { return plannings_; }
  // Interrupted once a stop was requested.
  const Budget& budget() const { return budget_; }
  bool stopped() const { return budget_.interrupted().has_value(); }

 private:
  Planner planner_;
  bool quick_is_full_;
  Budget budget_;
  std::uint64_t plannings_ = 0;
};

struct FoundStep {
  std::int64_t step = 0;  // has a plan; no plan is known for step - 1
  Fit fit;
  bool less_is_impossible = false;  // true if step - 1 is proved impossible
};

// Finds the smallest step from 1 to `most` that fits, that is, for which fit_of(step, effort) has a
// plan. Step 0 is the unchanged problem, which has no known plan. Assumes that a step fits if a
// smaller step fits. Bisects for the largest step that is proved impossible, brackets the answer by
// brief plannings, and looks below it with more effort. run() returns nothing if no step fits or
// after a stop. Cost: O(log most) brief plannings and usually one or two longer ones.
// Thread safety: one thread at a time.
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

  // Looks for smaller steps that fit, because a longer search may find plans that brief searches
  // missed.
  void gallop_down(Effort effort) {
    fails_ = impossible_;
    for (std::int64_t stride = 1; fits_ - impossible_ > 1 && !stopped_; stride *= 2) {
      if (!ask(std::max(fits_ - stride, impossible_ + 1), effort)) return;
    }
  }

  std::int64_t most_;
  Effort first_;
  const FitOf& fit_of_;
  std::int64_t impossible_ = 0;  // the largest step proved impossible; 0 = none
  std::int64_t fails_ = 0;       // the largest step below fits_ without a plan
  std::int64_t fits_ = 0;        // the smallest step with a plan; 0 = none yet
  Fit fit_;
  bool stopped_ = false;
};

}  // namespace shardwright::embedding
