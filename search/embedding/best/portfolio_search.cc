#include "search/embedding/best/portfolio_search.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "search/embedding/model/allocation_state.h"

namespace shardwright::embedding {
namespace {

// Returns true if a table has no choice that fits the ranks.
bool is_hopeless(const SearchContext& context) {
  const ChoiceModel& model = context.model();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    bool any = false;
    for (std::uint32_t i = 0; i < model.choices(table).size() && !any; ++i)
      any = context.fits(model.first_choice(table) + i);
    if (!any) return true;
  }
  return false;
}

bool in_model_order(const ChoiceModel& model, const Plan& plan) {
  if (plan.size() != model.num_tables()) return false;
  for (std::size_t table = 0; table < plan.size(); ++table) {
    if (plan[table].option->table != model.table(table)) return false;
  }
  return true;
}

}  // namespace

PortfolioSearch::PortfolioSearch(const ChoiceModel& model, std::uint64_t seed, bool prove,
                                 const BestParameters& parameters, const Budget& budget)
    : parameters_(parameters),
      context_(model, parameters.pricing, budget),
      hopeless_(is_hopeless(context_)),
      proves_(prove),
      proof_(model, prove, parameters, budget),
      lanes_(context_, seed, parameters),
      round_work_(LaneParameters::kFirstRoundWork),
      lane_work_(proof_.size() + lanes_.size()),
      suggestions_(model, parameters.lanes) {}

void PortfolioSearch::offer(const Plan& start) {
  const ChoiceModel& model = context_.model();
  const std::optional<Allocation> allocation = to_allocation(model, start);
  if (!allocation) return;
  lanes_.set_reference(*allocation);
  AllocationState state(context_);
  state.assign(*allocation);
  if (!state.all_good()) return;
  const Plan* const base = known_ ? &*known_ : in_model_order(model, start) ? &start : nullptr;
  known_ = base != nullptr ? to_plan(model, *allocation, *base, copies_)
                           : to_plan(model, *allocation, copies_);
  lanes_.add_start({*known_, state.max_load(), state.peak_hbm()});
}

bool PortfolioSearch::is_proved() const {
  return proves_ && best_ && bound_ >= aim() * (1 - parameters_.bound.optimality_gap);
}

// Returns true if plans still get better, although the gap may be proved.
bool PortfolioSearch::goes_on() const {
  return is_improving_ && bound_ < aim() * (1 - LaneParameters::kNothingBetter);
}

bool PortfolioSearch::is_done() const { return is_proved() && !goes_on(); }

// Returns how far the rating fell over the last 1 / parts of all work; infinity if there was no
// plan before. Precondition: there is a best plan.
double PortfolioSearch::recent_fall(std::uint64_t work, std::uint64_t parts) const {
  const auto recent = std::find_if(steps_.begin(), steps_.end(), [&](const ImprovementStep& step) {
    return step.work >= work / parts * (parts - 1);
  });
  if (recent == steps_.begin()) return std::numeric_limits<double>::infinity();
  return std::prev(recent)->rating - best_->rating;
}

std::uint64_t PortfolioSearch::proof_share(std::uint64_t work) const {
  const LaneParameters& lanes = parameters_.lanes;
  if (!best_) return LaneParameters::kProofShare;
  if (recent_fall(work, lanes.recent_parts) > LaneParameters::kProgress * (best_->rating - bound()))
    return LaneParameters::kProofShare;
  const bool is_calm = work > best_since_ + lanes.calm_work;
  const bool is_rising = work <= bound_since_ + lanes.stuck_work;
  return is_calm && is_rising ? LaneParameters::kCalmProofShare
                              : LaneParameters::kSettledProofShare;
}

std::size_t PortfolioSearch::propose(std::size_t, const Budget&) {
  if (hopeless_ || is_done()) return 0;
  round_bound_ = bound();
  return lane_work_.size();
}

// The lanes of the proof come first, because their rounds take longest.
void PortfolioSearch::evaluate(std::size_t, unsigned, std::size_t begin, std::size_t end,
                               const Budget& budget) {
  for (std::size_t lane = begin; lane < end; ++lane) {
    lane_work_[lane] = 0;
    if (budget.interrupted()) continue;
    if (lane < proof_.size()) {
      Budget own = budget;
      proof_.run(lane, round_work_, own);
      lane_work_[lane] = own.work_done() - budget.work_done();
    } else {
      lane_work_[lane] = lanes_.run(lane - proof_.size(), round_work_, round_bound_, budget);
    }
  }
}

void PortfolioSearch::publish(const RatedAllocation& found) {
  const ChoiceModel& model = context_.model();
  known_ = known_ ? to_plan(model, found.allocation, *known_, copies_)
                  : to_plan(model, found.allocation, copies_);
  best_ = RatedPlan{*known_, found.rating, found.peak_hbm_bytes};
  lanes_.set_reference(found.allocation);
}

// Returns nothing unless the allocation is feasible and better than the best plan.
std::optional<RatedAllocation> PortfolioSearch::rated(Allocation allocation) {
  AllocationState state(context_);
  state.assign(allocation);
  RatedAllocation found{std::move(allocation), state.max_load(), state.peak_hbm()};
  if (!state.all_good() || (best_ && !is_better(found, *best_))) return std::nullopt;
  return found;
}

// Returns the best of the plan that the proof found and of suggestions that place all tables.
// Precondition: there is a prover.
std::optional<RatedAllocation> PortfolioSearch::found_by_proof(
    const std::vector<SuggestedStart>& suggestions) {
  std::optional<RatedAllocation> best;
  const auto consider = [&](std::optional<RatedAllocation> found) {
    if (found && (!best || is_better(*found, *best))) best = std::move(found);
  };
  if (const std::optional<Plan> plan = proof_.prover()->take_found()) {
    if (std::optional<Allocation> allocation = to_allocation(context_.model(), *plan))
      consider(rated(*std::move(allocation)));
  }
  for (const SuggestedStart& suggestion : suggestions) {
    if (suggestion.num_unplaced(context_.model()) == 0) consider(rated(suggestion.start));
  }
  return best;
}

void PortfolioSearch::count_work(Budget& budget) {
  for (const std::uint64_t work : lane_work_)
    budget.spend(work);
  span_ += *std::max_element(lane_work_.begin(), lane_work_.end());
}

// Publishes the best allocation of all lanes, or found_by_proof() if it is better. Takes over the
// bound of the proof, and gives its suggestions to the lanes.
void PortfolioSearch::take_in(std::uint64_t work) {
  const double bound_before = bound_;
  const RatedAllocation* found = lanes_.best_of_all(best_);
  std::vector<SuggestedStart> suggestions;
  std::optional<RatedAllocation> proved;
  if (BoundProver* const prover = proof_.prover()) {
    if (best_) prover->end_round();
    bound_ = std::max(bound_, prover->bound());
    suggestions = prover->take_suggestions();
    proved = found_by_proof(suggestions);
  }
  if (proved && (found == nullptr || is_better(*proved, *found))) found = &*proved;
  if (found != nullptr) {
    publish(*found);
    best_since_ = work;
  }
  if (bound_ > bound_before) bound_since_ = work;
  if (best_ && (found != nullptr || bound_ > bound_before))
    steps_.push_back({work, best_->rating, bound_});
  const LaneParameters& lanes = parameters_.lanes;
  is_improving_ = best_ && recent_fall(work, LaneParameters::kLastParts) >
                               lanes.last_progress * (best_->rating - bound_);
  if (found != nullptr) lanes_.offer(*best_);
  suggestions_.add(std::move(suggestions));
  if (std::optional<SuggestedStart> next = suggestions_.take()) lanes_.suggest(*std::move(next));
}

// Shortens the next round to the work left for all lanes, but to no less than the first round.
void PortfolioSearch::shorten_round(const Budget& budget) {
  const LaneParameters& lanes = parameters_.lanes;
  const std::uint64_t left = budget.most_work_left().value_or(~std::uint64_t{0});
  const std::uint64_t most = left / (lanes.annealing_lanes + proof_.share());
  round_work_ = std::min(round_work_, std::max(most, LaneParameters::kFirstRoundWork));
}

// Counts the work of all lanes, takes in their results, and sets the next work of the proof.
bool PortfolioSearch::synchronize(std::size_t, Budget& budget) {
  const std::uint64_t round_work = round_work_;
  round_work_ = std::min(2 * round_work_, LaneParameters::kMostRoundWork);
  lanes_.forget_starts();  // all lanes have been offered these
  count_work(budget);
  if (proof_.size() > 0) proof_.end_round(lane_work_.front(), round_work);
  take_in(budget.work_done());
  if (is_done()) return false;
  if (best_ && !budget.interrupted()) {
    proof_.begin_round(aim(), proof_share(budget.work_done()), round_work_);
  } else {
    proof_.rest();
  }
  shorten_round(budget);
  return true;
}

}  // namespace shardwright::embedding
