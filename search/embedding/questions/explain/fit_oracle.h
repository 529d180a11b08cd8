// Answers whether a problem has a plan: by a proof if there is one, otherwise by planning.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "search/budget.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/questions/explain/memory_shortage.h"

namespace shardwright::embedding {

struct Fit {
  enum class Answer : std::uint8_t {
    kFits,        // planning found a plan that the verifier accepts
    kImpossible,  // proved
    kNotFound,
    kStopped,  // by the deadline or on request
  };
  Answer answer = Answer::kNotFound;
  std::shared_ptr<const Problem> problem;           // null if the spec is invalid
  std::shared_ptr<const SearchSpace> search_space;  // null if not enumerated
  std::optional<Reservation> reservation;           // absent if reserving failed
  std::optional<MemoryShortage> shortage;           // the proof, if memory is the reason
  std::string why;                                  // otherwise, if impossible
  std::optional<Plan> plan;                         // the first that was found
  double rating = 0;                                // of the plan

  bool fits() const { return answer == Answer::kFits; }
  bool impossible() const { return answer == Answer::kImpossible; }
};

// How long to search for a plan if no proof says that there is none.
enum class Effort : std::uint8_t {
  kProof,  // not at all
  kBrief,  // best mode: a hundredth of the work
  kQuick,  // best mode: a tenth of it
  kFull,   // as the caller's options say
};

// Proves that a problem has no plan if its memory shows it, and asks a planner otherwise.
// Thread safety: one thread at a time.
class FitOracle {
 public:
  // Searches for a first plan of `fit.problem` in `fit.search_space`. Sets the answer; the plan and
  // its rating if it fits; `why` if it is impossible.
  using Planner = std::function<void(Effort effort, Fit& fit)>;

  // `quick_is_full`: the planner ignores the effort and always searches fully.
  FitOracle(Planner planner, bool quick_is_full, std::stop_token stop);

  // Uses the options and costs of `space` if it is given: for problems that differ in memory alone.
  // The answer is kStopped, and the rest may be absent, if a stop was requested.
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

}  // namespace shardwright::embedding
