#include "search/embedding/questions/explain/infeasible/remedies.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/questions/explain/infeasible/problem_changes.h"
#include "search/embedding/questions/explain/infeasible/step_search.h"

namespace shardwright::embedding {
namespace {

constexpr std::size_t kMostDropped = 200;     // constraints that are tried
constexpr std::size_t kMostListed = 8;        // constraints that help, until no more are tried
constexpr std::size_t kMostUnsettled = 12;    // constraints that a quick search does not settle
constexpr std::size_t kMostFullSearches = 3;  // of these

// Thread safety: one thread at a time.
class RemedyFinder {
 public:
  RemedyFinder(const Fit& present, bool proved, std::span<const TableId> tables, FitOracle& oracle)
      : present_(present),
        problem_(*present.problem),
        proved_(proved),
        tables_(tables),
        oracle_(oracle) {}

  Remedies run() {
    if (is_given_by_rank(problem_))
      found_.in_vain.push_back({Remedy::Kind::kRanks, FailedRemedy::Reason::kRanksDiffer});
    for (const SteppedChange& change : stepped_changes(problem_)) {
      if (oracle_.stopped()) return std::move(found_);
      step_through(change);
    }
    drop_constraints();
    return std::move(found_);
  }

 private:
  void step_through(const SteppedChange& change) {
    const auto fit_of = [&](std::int64_t step, Effort effort) {
      return oracle_.ask(change.spec(step), effort,
                         change.same_costs ? present_.search_space : nullptr);
    };
    StepSearch search(change.most, oracle_.quick_is_full(), fit_of);
    const std::optional<FoundStep> found = search.run();
    if (!found) {
      found_.in_vain.push_back(
          {change.kind,
           search.stopped() ? FailedRemedy::Reason::kStopped : FailedRemedy::Reason::kNotEnough,
           change.value(change.most), change.each_rank_adds});
      return;
    }
    Remedy remedy;
    remedy.kind = change.kind;
    remedy.from = change.from;
    remedy.to = change.value(found->step);
    remedy.step = change.step;
    remedy.each_rank_adds = change.each_rank_adds;
    remedy.rating = found->fit.rating;
    remedy.less_is_impossible = found->step == 1 ? proved_ : found->less_is_impossible;
    found_.remedies.push_back(std::move(remedy));
  }

  void drop_constraints() {
    const std::vector<DroppableConstraint> constraints = droppable_constraints(problem_, tables_);
    if (constraints.empty()) return;
    const std::size_t most = std::min(constraints.size(), kMostDropped);
    std::size_t tried = 0;
    std::size_t listed = 0;
    std::size_t unsettled = 0;
    while (tried < most && listed < kMostListed && unsettled < kMostUnsettled &&
           !oracle_.stopped()) {
      const DroppableConstraint& constraint = constraints[tried++];
      const Fit fit = without(constraint, unsettled);
      if (!fit.fits()) continue;
      ++listed;
      Remedy remedy;
      remedy.kind = Remedy::Kind::kConstraint;
      remedy.constraint = constraint.place;
      remedy.rating = fit.rating;
      remedy.less_is_impossible = proved_;
      found_.remedies.push_back(std::move(remedy));
    }
    if (listed > 0) return;
    FailedRemedy vain{Remedy::Kind::kConstraint, FailedRemedy::Reason::kNoneSuffices};
    vain.tried = tried;
    vain.constraints = constraints.size();
    found_.in_vain.push_back(vain);
  }

  Fit without(const DroppableConstraint& constraint, std::size_t& unsettled) {
    ProblemSpec spec = problem_.spec();
    constraint.drop(spec);
    const bool quick_is_full = oracle_.quick_is_full();
    Fit fit = oracle_.ask(spec, quick_is_full ? Effort::kFull : Effort::kQuick);
    if (fit.fits() || fit.impossible() || quick_is_full) return fit;
    if (unsettled++ < kMostFullSearches) fit = oracle_.ask(std::move(spec), Effort::kFull);
    return fit;
  }

  const Fit& present_;
  const Problem& problem_;
  bool proved_;
  std::span<const TableId> tables_;
  FitOracle& oracle_;
  Remedies found_;
};

}  // namespace

const char* to_name(Remedy::Kind kind) {
  constexpr const char* kNames[] = {"ranks", "hosts",      "hbm",         "ddr",
                                    "ssd",   "batch_size", "reservation", "constraint"};
  return kNames[static_cast<std::size_t>(kind)];
}

Remedies find_remedies(const Fit& present, bool proved, std::span<const TableId> tables,
                       FitOracle& oracle) {
  return RemedyFinder(present, proved, tables, oracle).run();
}

}  // namespace shardwright::embedding
