// Does a problem have a plan: proved not, planned, or not found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/planner.h"
#include "search/embedding/model/misfit.h"

namespace shardwright {

struct Fit {
  enum class Answer : std::uint8_t {
    kFits,        // planning found a plan that the verifier accepts
    kImpossible,  // proved
    kNotFound,
    kStopped,  // by the deadline or on request
  };
  Answer answer = Answer::kNotFound;
  std::shared_ptr<const embedding::Problem> problem;           // null where it is none
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null where not enumerated
  std::optional<Reservation> reservation;
  std::optional<embedding::Misfit> misfit;  // where this proves it
  std::string why;                          // else, where impossible
  std::optional<embedding::Plan> plan;      // the first that was found
  double rating = 0;

  bool fits() const { return answer == Answer::kFits; }
  bool impossible() const { return answer == Answer::kImpossible; }
};

// How long to search for a plan where none is proved impossible.
enum class Effort : std::uint8_t {
  kProof,  // not at all
  kBrief,  // best mode: a hundredth of the work
  kQuick,  // best mode: a tenth of it
  kFull,   // as the caller's options say
};

// Plans as a caller's options say, and stops at the first plan.
// Thread safety: one thread at a time.
class FitOracle {
 public:
  explicit FitOracle(PlanOptions options) : options_(std::move(options)) {}

  // Where `space` is given it is used as it is: for problems that differ in memory alone.
  Fit ask(embedding::ProblemSpec spec, Effort effort,
          std::shared_ptr<const embedding::SearchSpace> space = nullptr);

  // Whether a brief search is the same as a full one.
  bool quick_is_full() const { return options_.mode == PlanMode::kExact; }
  std::uint64_t plannings() const { return plannings_; }
  bool stopped() const { return options_.stop.stop_requested(); }

 private:
  void plan(Effort effort, Fit& fit);
  Result<EmbeddingPlanResult> plan_first(const Fit& fit, PlanOptions options, bool trust_exact);
  bool proposals_may_be_wrong(const embedding::Problem& problem) const;

  PlanOptions options_;
  std::uint64_t plannings_ = 0;
};

}  // namespace shardwright
