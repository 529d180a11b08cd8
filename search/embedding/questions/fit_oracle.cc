#include "search/embedding/questions/fit_oracle.h"

#include <utility>

#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/load_factor_options.h"
#include "search/executor.h"

namespace shardwright::embedding {

FitOracle::FitOracle(Planner planner, bool quick_is_full, std::stop_token stop)
    : planner_(std::move(planner)),
      quick_is_full_(quick_is_full),
      budget_({}, {}, std::move(stop)) {}

Fit FitOracle::ask(ProblemSpec spec, Effort effort, std::shared_ptr<const SearchSpace> space) {
  Fit fit;
  const auto impossible = [&](const Error& error) {
    fit.answer = Fit::Answer::kImpossible;
    fit.why = error.to_string();
    return std::move(fit);
  };
  fit.answer = Fit::Answer::kStopped;
  if (stopped()) return fit;
  Result<Problem> made = Problem::make(std::move(spec));
  if (!made.ok()) return impossible(made.error());
  fit.problem = std::make_shared<const Problem>(std::move(made).value());
  Result<Reservation> reservation = reserve(*fit.problem);
  if (!reservation.ok()) return impossible(reservation.error());
  fit.reservation = std::move(reservation).value();
  if (!space) {
    InlineExecutor executor;
    auto enumerated = enumerate(fit.problem, executor, budget_);
    // Caches of other sizes may fit.
    if (enumerated.ok())
      enumerated = with_load_factors(std::move(enumerated).value(), executor, budget_);
    if (stopped()) return fit;
    if (!enumerated.ok()) return impossible(enumerated.error());
    space = std::move(enumerated).value();
  }
  fit.search_space = std::move(space);
  fit.answer = Fit::Answer::kNotFound;
  fit.shortage = prove_memory_shortage(*fit.search_space, fit.reservation->topology, budget_);
  if (fit.shortage) {
    fit.answer = Fit::Answer::kImpossible;
  } else if (stopped()) {
    fit.answer = Fit::Answer::kStopped;
  } else if (effort != Effort::kProof) {
    ++plannings_;
    planner_(effort, fit);
  }
  return fit;
}

}  // namespace shardwright::embedding
