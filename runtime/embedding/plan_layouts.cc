#include "runtime/embedding/plan_layouts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/embedding/layout_problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/planning.h"
#include "runtime/execution/stopwatch.h"

namespace shardwright {
namespace {

using embedding::Problem;

constexpr double kNone = std::numeric_limits<double>::infinity();

double rating_of(const EmbeddingPlanResult& result) { return result.best_rating.value_or(kNone); }

// Returns a lower bound on all ratings: infinity if no plan exists, 0 if nothing is known.
double bound_of(const EmbeddingPlanResult& result) {
  if (result.failure && result.failure->proof) return kNone;
  return result.lower_bound.value_or(0);
}

// Replaces the answer for a layout by a later one, but keeps the old bound if it is higher.
void take_answer(EmbeddingPlanResult later, EmbeddingPlanResult& answer) {
  if (bound_of(later) < bound_of(answer)) {
    later.lower_bound = answer.lower_bound;
    later.certificate = std::move(answer.certificate);
    later.bound_refusal = std::move(answer.bound_refusal);
  }
  later.work.work_steps += answer.work.work_steps;
  later.work.span_steps += answer.work.span_steps;
  later.given_search_space = false;
  answer = std::move(later);
}

// One call of plan_layouts().
// Thread safety: one thread at a time.
class LayoutPlanner {
 public:
  explicit LayoutPlanner(const PlanOptions& options) : options_(options) {}

  Status plan_all(const Problem& problem) {
    for (const embedding::MachineLayout& layout : problem.topology().layouts()) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(auto own, layout_problem(problem, layout));
      problems_.push_back(std::move(own));
    }
    answers_.resize(problems_.size());
    for (std::size_t i = 0; i < problems_.size(); ++i)
      SHARDWRIGHT_RETURN_IF_ERROR(plan(i, kFirstParts * problems_.size()));
    std::vector<std::size_t> open = open_layouts();
    for (std::size_t done = 0; done < open.size(); ++done) {
      if (may_win(open[done])) SHARDWRIGHT_RETURN_IF_ERROR(plan(open[done], open.size() - done));
    }
    return {};
  }

  // Precondition: there is a layout.
  EmbeddingPlanResult answer() && {
    const std::size_t best = best_layout();
    double bound = kNone;
    std::uint64_t steps = 0;
    std::uint64_t span = 0;
    for (const EmbeddingPlanResult& own : answers_) {
      bound = std::min(bound, bound_of(own));
      steps += own.work.work_steps;
      span += own.work.span_steps;
    }
    EmbeddingPlanResult result = std::move(answers_[best]);
    answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(best));
    // Either a layout has no bound, or no layout has a plan.
    if (bound == 0 || bound == kNone) {
      result.lower_bound.reset();
    } else {
      result.lower_bound = bound;
    }
    result.work.work_steps = steps;
    result.work.span_steps = span;
    result.timing.total_s = total_.seconds();
    // Drop layouts whose search was stopped before it found anything.
    std::erase_if(answers_, [](const auto& own) { return !own.plan && !own.failure; });
    result.other_layouts = std::move(answers_);
    return result;
  }

 private:
  // The first searches of all layouts share a quarter of the work.
  static constexpr std::size_t kFirstParts = 4;

  // Returns the layout with the best plan. If no layout has a plan, returns the last layout that is
  // not proved infeasible, or else the last layout: later layouts have more memory per group.
  std::size_t best_layout() const {
    std::size_t best = answers_.size() - 1;
    for (std::size_t i = answers_.size(); i-- > 0;) {
      const EmbeddingPlanResult& own = answers_[i];
      const bool more_likely = !own.plan && !answers_[best].plan && bound_of(own) == 0 &&
                               bound_of(answers_[best]) == kNone;
      if (rating_of(own) < rating_of(answers_[best]) || more_likely) best = i;
    }
    return best;
  }

  bool is_proved(std::size_t i) const {
    const EmbeddingPlanResult& own = answers_[i];
    return bound_of(own) == kNone ||
           (own.best_rating && gap(*own.best_rating, bound_of(own)) <= kProvenGap);
  }
  bool may_win(std::size_t i) const {
    return !is_proved(i) && bound_of(answers_[i]) < rating_of(answers_[best_layout()]);
  }

  // Returns the layouts that may still have the best plan, in ascending order of their ratings.
  std::vector<std::size_t> open_layouts() const {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      if (may_win(i)) open.push_back(i);
    }
    std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
      return rating_of(answers_[a]) < rating_of(answers_[b]);
    });
    return open;
  }

  // Plans for layout `i` with 1/`parts` of the remaining work and time.
  Status plan(std::size_t i, std::size_t parts) {
    PlanOptions options = options_;
    const std::uint64_t limit = work_limit_of(options_).value_or(0);
    if (limit > 0) options.work_limit = (limit - std::min(limit, work_done_)) / parts;
    if (options.time_limit_s) {
      const double left = std::max(0.0, *options.time_limit_s - total_.seconds());
      options.time_limit_s = left / static_cast<double>(parts);
    }
    options.to_beat = std::min(options.to_beat, rating_of(answers_[best_layout()]));
    options.on_progress = progress();
    EmbeddingPlanResult& known = answers_[i];
    options.start = known.plan ? std::make_shared<const embedding::Plan>(*known.plan) : nullptr;
    SHARDWRIGHT_ASSIGN_OR_RETURN(EmbeddingPlanResult result,
                                 plan_embedding(problems_[i], options, known.search_space));
    work_done_ += result.work.work_steps;
    take_answer(std::move(result), known);
    return {};
  }

  // Reports the progress of all layouts together.
  std::function<void(const PlanProgress&)> progress() const {
    if (!options_.on_progress) return {};
    return [this](PlanProgress at) {
      at.work_steps += work_done_;
      at.work_limit = work_limit_of(options_);
      at.elapsed_s = total_.seconds();
      at.time_limit_s = options_.time_limit_s;
      options_.on_progress(at);
    };
  }

  Stopwatch total_;
  const PlanOptions& options_;
  std::uint64_t work_done_ = 0;
  std::vector<std::shared_ptr<const Problem>> problems_;  // by layout
  std::vector<EmbeddingPlanResult> answers_;
};

}  // namespace

Result<EmbeddingPlanResult> plan_layouts(const std::shared_ptr<const Problem>& problem,
                                         const PlanOptions& options) {
  if (options.mode == PlanMode::kCompat) SHARDWRIGHT_RETURN_IF_ERROR(check_layout(*problem));
  LayoutPlanner planner(options);
  SHARDWRIGHT_RETURN_IF_ERROR(planner.plan_all(*problem));
  return std::move(planner).answer();
}

}  // namespace shardwright
