#include "runtime/embedding/planning/planning.h"

#include <utility>

#include "core/embedding/evaluation/evaluate.h"

namespace shardwright {

std::optional<std::uint64_t> work_limit_of(const PlanOptions& options) {
  const bool limited = options.work_limit || options.time_limit_s;
  if (limited || options.mode == PlanMode::kCompat) return options.work_limit;
  return kDefaultBestWork;
}

Planning::Planning(std::shared_ptr<const embedding::Problem> asked, const PlanOptions& how,
                   std::shared_ptr<const embedding::SearchSpace> given)
    : problem(std::move(asked)),
      options(how),
      space(std::move(given)),
      budget(work_limit_of(how), how.time_limit_s, how.stop),
      executor(how.threads) {
  result.problem = problem;
  result.mode = how.mode;
  result.given_search_space = space != nullptr;
}

const embedding::SearchParts& Planning::parts() const {
  static const embedding::SearchParts kNone;
  return options.parts == nullptr ? kNone : *options.parts;
}

void Planning::keep(const embedding::Plan& plan, double rating) {
  result.plan = plan;
  result.best_rating = rating;
  result.evaluation = embedding::evaluate(*problem, available(), plan);
}

}  // namespace shardwright
