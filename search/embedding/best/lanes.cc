#include "search/embedding/best/lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardwright::embedding {

void Suggestions::add(std::vector<SuggestedStart> suggestions) {
  for (SuggestedStart& made : suggestions) {
    const std::size_t unplaced = made.num_unplaced(model_);
    waiting_.push_back({std::move(made), parameters_.suggestion_tries, unplaced});
  }
  const std::size_t most = parameters_.most_suggestions;
  if (waiting_.size() > most)
    waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(most));
}

std::optional<SuggestedStart> Suggestions::take() {
  if (waiting_.empty()) return std::nullopt;
  const auto has_more_places = [](const Waiting& a, const Waiting& b) {
    return a.unplaced < b.unplaced;
  };
  const auto next =
      std::prev(std::min_element(waiting_.rbegin(), waiting_.rend(), has_more_places).base());
  SuggestedStart taken = next->made;
  next->made.start = Allocation::of_choices(std::move(next->made.start.choice));
  next->unplaced = next->made.num_unplaced(model_);
  if (--next->tries_left == 0) waiting_.erase(next);
  return taken;
}

SearchLanes::SearchLanes(const SearchContext& context, std::uint64_t seed,
                         const BestParameters& parameters)
    : context_(&context),
      seed_(seed),
      parameters_(parameters),
      lanes_(parameters.lanes.annealing_lanes) {}

void SearchLanes::set_reference(const Allocation& reference) {
  if (!reference_) reference_ = std::make_shared<const Allocation>(reference);
}

AnnealingLane& SearchLanes::begin(std::size_t number) {
  std::unique_ptr<AnnealingLane>& lane = lanes_[number];
  if (lane) return *lane;
  lane = std::make_unique<AnnealingLane>(*context_, seed_, static_cast<std::uint32_t>(number),
                                         parameters_.annealing);
  lane->set_reference(reference_);
  for (const RatedPlan& start : starts_)
    lane->offer(start);
  return *lane;
}

void SearchLanes::offer(const RatedPlan& best) {
  for (std::size_t i = 0; i < lanes_.size(); i += 2) {
    if (!lanes_[i]) continue;
    lanes_[i]->set_reference(reference_);
    lanes_[i]->offer(best);
  }
}

void SearchLanes::suggest(SuggestedStart suggestion) {
  const auto& lane = lanes_[num_suggested_++ % lanes_.size()];
  if (lane) lane->suggest(std::move(suggestion));
}

std::uint64_t SearchLanes::run(std::size_t lane, std::uint64_t work, double lower_bound,
                               const Budget& budget) {
  AnnealingLane& own = begin(lane);
  const std::uint64_t before = own.work();
  own.run(work, lower_bound, budget);
  return own.work() - before;
}

const RatedAllocation* SearchLanes::best_of_all(const std::optional<RatedPlan>& known) const {
  const RatedAllocation* found = nullptr;
  for (const std::unique_ptr<AnnealingLane>& lane : lanes_) {
    if (!lane || !lane->best() || (known && !is_better(*lane->best(), *known))) continue;
    if (found == nullptr || is_better(*lane->best(), *found)) found = &*lane->best();
  }
  return found;
}

ProofLanes::ProofLanes(const ChoiceModel& model, bool prove, const BestParameters& parameters,
                       const Budget& budget)
    : parameters_(parameters.lanes), num_lanes_(prove ? parameters.bound.targets.tree_lanes : 0) {
  if (prove && !budget.interrupted())
    prover_ = std::make_unique<BoundProver>(model, parameters.bound);
}

void ProofLanes::run(std::size_t lane, std::uint64_t round_work, Budget& budget) {
  if (lane < num_working_) prover_->run_lane(lane, share_ * round_work / num_working_, budget);
}

void ProofLanes::end_round(std::uint64_t first_lane_work, std::uint64_t round_work) {
  if (num_working_ != 1) return;
  const std::uint64_t done = ahead_ + first_lane_work;
  ahead_ = done - std::min(done, share_alone_ * round_work);
}

// Limit of the share of a lane that works alone: at most the number of annealing lanes.
std::uint64_t ProofLanes::most_alone() const {
  return std::min<std::uint64_t>(LaneParameters::kAloneProofShare, parameters_.annealing_lanes);
}

// The share of all lanes of a shared tree. It is small while few lanes have leaves, so that leaves
// are soon distributed again, but at least that of a lane that works alone.
std::uint64_t ProofLanes::share_of_tree(std::uint64_t share) const {
  const auto lanes = prover_->shared()->lanes();
  const auto busy = static_cast<std::uint64_t>(
      std::count_if(lanes.begin(), lanes.end(), [](const auto& lane) { return !lane->is_idle(); }));
  if (busy == 0) return share;
  return std::min(share, std::max(most_alone() * lanes.size() / busy, share * busy / lanes.size()));
}

void ProofLanes::begin_round(double aim, std::uint64_t share, std::uint64_t round_work) {
  rest();
  if (!prover_) return;
  prover_->begin_round(aim);
  if (prover_->finished()) return;
  if (prover_->shared() != nullptr) {
    share_ = share_of_tree(share);
    num_working_ = num_lanes_;
    return;
  }
  // One lane works until the tree is shared. If a step exceeds the round, the next rounds are
  // shorter.
  share_alone_ = std::min(share, most_alone());
  share_ = share_alone_ - std::min(share_alone_, ahead_ / round_work);
  num_working_ = 1;
}

}  // namespace shardwright::embedding
