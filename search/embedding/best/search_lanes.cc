#include "search/embedding/best/search_lanes.h"

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
  std::unique_ptr<AnnealingLane>& own = lanes_[number];
  if (own) return *own;
  own = std::make_unique<AnnealingLane>(*context_, seed_, static_cast<std::uint32_t>(number),
                                        parameters_.annealing);
  own->set_reference(reference_);
  for (const RatedPlan& start : starts_)
    own->offer(start);
  return *own;
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
  if (!parameters_.methods.annealing) return 0;
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

}  // namespace shardwright::embedding
