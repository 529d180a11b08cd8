#include "search/embedding/best/best_search.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

// A table has no choice whose shards fit on any rank.
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

}  // namespace

BestSearch::BestSearch(const ChoiceModel& model, std::uint64_t seed, bool prove,
                       const BestParameters& parameters)
    : parameters_(parameters.lanes),
      context_(model, parameters.pricing),
      hopeless_(is_hopeless(context_)),
      prover_(prove ? std::make_unique<BoundProver>(model) : nullptr),
      neighbourhoods_(context_, seed, parameters.neighbourhoods),
      round_work_(parameters_.first_round_work) {
  for (std::uint32_t lane = 0; lane < parameters_.annealing_lanes; ++lane)
    annealing_.emplace_back(context_, seed, lane, parameters.annealing);
  lane_work_.resize(annealing_.size() + 2);
}

void BestSearch::offer(const Allocation& start) {
  for (AnnealingLane& lane : annealing_)
    lane.offer(start);
  neighbourhoods_.offer(start);
}

bool BestSearch::is_proved() const {
  return prover_ && best_ && prover_->bound() >= best_->rating * (1 - BoundProver::kOptimal);
}

// Nothing is left to find, nor to prove.
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

std::size_t BestSearch::propose(const Budget& budget) {
  if (hopeless_ || is_done()) return 0;
  round_bound_ = bound();
  round_proof_share_ = proof_share(budget.work_done());
  return lane_work_.size();
}

// Lane 0 is the proof, which needs a rating to prove; the last one solves neighbourhoods.
void BestSearch::evaluate(unsigned, std::size_t begin, std::size_t end, const Budget& budget) {
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

void BestSearch::take_over(const std::optional<RatedAllocation>& found, bool& better) {
  if (!found || (best_ && !is_better(*found, *best_))) return;
  best_ = found;
  better = true;
}

bool BestSearch::synchronize(Budget& budget) {
  round_work_ = std::min(2 * round_work_, parameters_.most_round_work);
  for (const std::uint64_t work : lane_work_)
    budget.spend(work);
  const double bound_before = steps_.empty() ? 0 : steps_.back().bound;
  bool better = false;
  for (const AnnealingLane& lane : annealing_)
    take_over(lane.best(), better);
  take_over(neighbourhoods_.best(), better);
  solved_ = neighbourhoods_.solved();
  if (best_ && (better || bound() > bound_before))
    steps_.push_back({budget.work_done(), best_->rating, bound()});
  // Half of the lanes go on from the best plan, the others from their own.
  if (better) {
    for (std::size_t i = 0; i < annealing_.size(); i += 2)
      annealing_[i].offer(best_->allocation);
    neighbourhoods_.offer(best_->allocation);
  }
  return !is_done();
}

}  // namespace shardwright::embedding
