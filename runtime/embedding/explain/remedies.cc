#include "runtime/embedding/explain/remedies.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/embedding/explain/problem_changes.h"
#include "runtime/embedding/explain/step_search.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::Problem;
using embedding::ProblemSpec;
using embedding::SearchSpace;

// Of constraints: how many are tried and how many that help are listed; of those that a quick
// search does not settle, how many get a full one, and how many there may be.
constexpr std::size_t kMostDropped = 200;
constexpr std::size_t kMostListed = 8;
constexpr std::size_t kMostFullSearches = 3;
constexpr std::size_t kMostUnsettled = 12;

std::string value_text(Remedy::Kind kind, double value) {
  switch (kind) {
    case Remedy::Kind::kHbm:
    case Remedy::Kind::kDdr:
      return format_bytes(Bytes(static_cast<std::int64_t>(value)));
    case Remedy::Kind::kReservation:
      return format_share(value, 1);
    case Remedy::Kind::kRanks:
    case Remedy::Kind::kHosts:
    case Remedy::Kind::kBatchSize:
    case Remedy::Kind::kConstraint:
      break;
  }
  return format_count(static_cast<std::uint64_t>(value));
}

class RemedyFinder {
 public:
  RemedyFinder(const Fit& present, FitOracle& oracle, Infeasibility& infeasibility)
      : present_(present), problem_(*present.problem), oracle_(oracle), found_(infeasibility) {}

  void run() {
    if (is_given_by_rank(problem_)) {
      in_vain(Remedy::Kind::kRanks,
              "more ranks were not tried: the problem describes its ranks one by one");
    }
    for (const SteppedChange& change : stepped_changes(problem_)) {
      if (oracle_.stopped()) return;
      step_through(change);
    }
    drop_constraints();
  }

 private:
  void in_vain(Remedy::Kind kind, std::string message) {
    found_.in_vain.push_back({kind, std::move(message)});
  }

  void step_through(const SteppedChange& change) {
    const auto fit_of = [&](std::int64_t step, Effort effort) {
      return oracle_.ask(change.spec(step), effort,
                         change.same_costs ? present_.search_space : nullptr);
    };
    StepSearch search(change.most, oracle_.quick_is_full(), fit_of);
    std::optional<FoundStep> found = search.run();
    if (!found) {
      in_vain(change.kind, search.stopped()
                               ? "stopped before an answer was found"
                               : "not even " + value_text(change.kind, change.value(change.most)) +
                                     (change.each_rank_adds ? " more" : "") + " would do");
      return;
    }
    Remedy remedy;
    remedy.kind = change.kind;
    remedy.from = change.from;
    remedy.to = change.value(found->step);
    remedy.step = change.step;
    remedy.each_rank_adds = change.each_rank_adds;
    remedy.flags = change.flags(found->step);
    remedy.rating = found->fit.rating;
    remedy.less_is_impossible = found->step == 1 ? found_.proved : found->less_is_impossible;
    found_.remedies.push_back(std::move(remedy));
  }

  void drop_constraints() {
    const std::vector<DroppableConstraint> constraints =
        droppable_constraints(problem_, found_.tables);
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
      remedy.less_is_impossible = found_.proved;
      found_.remedies.push_back(std::move(remedy));
    }
    if (listed > 0) return;
    in_vain(Remedy::Kind::kConstraint,
            "dropping any one of " + std::to_string(tried) + " constraints" +
                (tried < constraints.size()
                     ? " (of " + std::to_string(constraints.size()) + ", the others untried)"
                     : "") +
                " does not do");
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
  FitOracle& oracle_;
  Infeasibility& found_;
};

}  // namespace

const char* to_name(Remedy::Kind kind) {
  constexpr const char* kNames[] = {"ranks",      "hosts",       "hbm",       "ddr",
                                    "batch_size", "reservation", "constraint"};
  return kNames[static_cast<std::size_t>(kind)];
}

void find_remedies(const Fit& present, FitOracle& oracle, Infeasibility& infeasibility) {
  RemedyFinder(present, oracle, infeasibility).run();
}

}  // namespace shardwright
