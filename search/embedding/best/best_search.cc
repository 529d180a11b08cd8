#include "search/embedding/best/best_search.h"

#include <algorithm>
#include <iterator>

#include "search/embedding/model/rank_state/allocation_state.h"

namespace shardwright::embedding {
namespace {

// Returns true if a table has no choice whose shards fit on any rank.
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

BestSearch::BestSearch(const ChoiceModel& model, std::uint64_t seed, bool prove,
                       const BestParameters& parameters)
    : parameters_(parameters.lanes),
      context_(model, parameters.pricing),
      hopeless_(is_hopeless(context_)),
      prover_(prove ? std::make_unique<BoundProver>(model, parameters.bound) : nullptr),
      neighbourhoods_(context_, seed, parameters.neighbourhoods),
      round_work_(parameters_.first_round_work) {
  for (std::uint32_t lane = 0; lane < parameters_.annealing_lanes; ++lane)
    annealing_.emplace_back(context_, seed, lane, parameters.annealing);
  lane_work_.resize(annealing_.size() + 2);
}

void BestSearch::offer(const Plan& start) {
  const ChoiceModel& model = context_.model();
  const std::optional<Allocation> allocation = to_allocation(model, start);
  if (!allocation) return;
  if (!reference_) reference_ = std::make_shared<const Allocation>(*allocation);
  for (AnnealingLane& lane : annealing_)
    lane.set_reference(reference_);
  neighbourhoods_.set_reference(reference_);
  AllocationState state(context_);
  state.assign(*allocation);
  if (!state.all_good()) return;
  const Plan* const base = known_ ? &*known_ : in_model_order(model, start) ? &start : nullptr;
  known_ = base != nullptr ? to_plan(model, *allocation, *base, copies_)
                           : to_plan(model, *allocation, copies_);
  const RatedPlan rated{*known_, state.max_load(), state.peak_hbm()};
  for (AnnealingLane& lane : annealing_)
    lane.offer(rated);
  neighbourhoods_.offer(rated);
}

bool BestSearch::is_proved() const { return prover_ && best_ && prover_->proves(best_->rating); }

// Returns true if there is nothing left to find or to prove.
bool BestSearch::is_done() const {
  if (is_proved()) return true;
  return neighbourhoods_.solved() && (!best_ || !prover_ || prover_->finished());
}

std::uint64_t BestSearch::proof_share(std::uint64_t work) const {
  if (!best_) return parameters_.proof_share;
  const auto recent = std::find_if(steps_.begin(), steps_.end(), [&](const ImprovementStep& step) {
    return step.work >= work / parameters_.recent_parts * (parameters_.recent_parts - 1);
  });
  if (recent == steps_.begin()) return parameters_.proof_share;
  const double before = std::prev(recent)->rating;
  const double fall = before - best_->rating;
  const bool improving = fall > parameters_.progress * (best_->rating - bound());
  return improving ? parameters_.proof_share : parameters_.settled_proof_share;
}

std::size_t BestSearch::propose(std::size_t, const Budget& budget) {
  if (hopeless_ || is_done()) return 0;
  round_bound_ = bound();
  round_proof_share_ = proof_share(budget.work_done());
  return lane_work_.size();
}

// Lane 0 is the proof, which starts once there is a rating. The last lane solves neighbourhoods.
void BestSearch::evaluate(std::size_t, unsigned, std::size_t begin, std::size_t end,
                          const Budget& budget) {
  for (std::size_t lane = begin; lane < end; ++lane) {
    Budget own = budget;
    const std::uint64_t before = own.work_done();
    if (lane == 0) {
      if (prover_ && best_ && !prover_->finished()) {
        prover_->run(round_proof_share_ * round_work_, best_->rating, own);
      }
      lane_work_[lane] = own.work_done() - before;
      continue;
    }
    const auto run = [&](auto& search) {
      const std::uint64_t done = search.work();
      if (!solved_) search.run(round_work_, round_bound_, own);
      lane_work_[lane] = search.work() - done;
    };
    if (lane <= annealing_.size()) {
      run(annealing_[lane - 1]);
    } else {
      run(neighbourhoods_);
    }
  }
}

// The first of the best allocations of all lanes; null if none is better than the best plan.
const RatedAllocation* BestSearch::best_of_round() const {
  const RatedAllocation* found = nullptr;
  const auto consider = [&](const std::optional<RatedAllocation>& own) {
    if (!own || (best_ && !is_better(*own, *best_))) return;
    if (found == nullptr || is_better(*own, *found)) found = &*own;
  };
  for (const AnnealingLane& lane : annealing_)
    consider(lane.best());
  consider(neighbourhoods_.best());
  return found;
}

void BestSearch::publish(const RatedAllocation& found) {
  const ChoiceModel& model = context_.model();
  known_ = known_ ? to_plan(model, found.allocation, *known_, copies_)
                  : to_plan(model, found.allocation, copies_);
  best_ = RatedPlan{*known_, found.rating, found.peak_hbm_bytes};
  if (!reference_) reference_ = std::make_shared<const Allocation>(found.allocation);
}

// Every second lane continues from the best plan, the others from their own.
void BestSearch::offer_to_lanes() {
  for (std::size_t i = 0; i < annealing_.size(); i += 2) {
    annealing_[i].set_reference(reference_);
    annealing_[i].offer(*best_);
  }
  neighbourhoods_.set_reference(reference_);
  neighbourhoods_.offer(*best_);
}

bool BestSearch::synchronize(std::size_t, Budget& budget) {
  round_work_ = std::min(2 * round_work_, parameters_.most_round_work);
  for (const std::uint64_t work : lane_work_)
    budget.spend(work);
  const double bound_before = steps_.empty() ? 0 : steps_.back().bound;
  const RatedAllocation* const found = best_of_round();
  if (found != nullptr) publish(*found);
  solved_ = neighbourhoods_.solved();
  if (best_ && (found != nullptr || bound() > bound_before))
    steps_.push_back({budget.work_done(), best_->rating, bound()});
  if (found != nullptr) offer_to_lanes();
  return !is_done();
}

}  // namespace shardwright::embedding
