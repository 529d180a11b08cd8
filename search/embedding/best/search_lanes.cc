#include "search/embedding/best/search_lanes.h"

#include <utility>

namespace shardwright::embedding {

SearchLanes::SearchLanes(const SearchContext& context, std::uint64_t seed,
                         const BestParameters& parameters)
    : context_(&context),
      seed_(seed),
      parameters_(parameters),
      annealing_(parameters.lanes.annealing_lanes),
      neighbourhoods_(parameters.lanes.neighbourhood_lanes) {}

void SearchLanes::set_reference(const Allocation& reference) {
  if (!reference_) reference_ = std::make_shared<const Allocation>(reference);
}

template <class Lane, class Parameters>
Lane& SearchLanes::begin(std::vector<std::unique_ptr<Lane>>& lanes, std::size_t number,
                         const Parameters& parameters) {
  std::unique_ptr<Lane>& own = lanes[number];
  if (own) return *own;
  own = std::make_unique<Lane>(*context_, seed_, static_cast<std::uint32_t>(number), parameters);
  own->set_reference(reference_);
  for (const RatedPlan& start : starts_)
    own->offer(start);
  return *own;
}

template <class Lane>
void SearchLanes::offer_to(const std::unique_ptr<Lane>& lane, const RatedPlan& best) {
  if (!lane) return;
  lane->set_reference(reference_);
  lane->offer(best);
}

void SearchLanes::offer(const RatedPlan& best) {
  for (std::size_t i = 0; i < annealing_.size(); i += 2)
    offer_to(annealing_[i], best);
  for (const auto& lane : neighbourhoods_)
    offer_to(lane, best);
}

void SearchLanes::suggest(SuggestedStart suggestion) {
  const auto& lane = annealing_[num_suggested_++ % annealing_.size()];
  if (lane) lane->suggest(std::move(suggestion));
}

std::uint64_t SearchLanes::run(std::size_t lane, std::uint64_t work, double lower_bound,
                               const Budget& budget) {
  const auto run_one = [&](auto& own) {
    const std::uint64_t before = own.work();
    own.run(work, lower_bound, budget);
    return own.work() - before;
  };
  const std::size_t first = annealing_.size();
  if (lane < first && !parameters_.methods.annealing) return 0;
  if (lane < first) return run_one(begin(annealing_, lane, parameters_.annealing));
  return run_one(begin(neighbourhoods_, lane - first, parameters_.neighbourhoods));
}

const std::optional<RatedAllocation>* SearchLanes::best(std::size_t lane) const {
  const auto best_of = [](const auto& own) { return own ? &own->best() : nullptr; };
  const std::size_t first = annealing_.size();
  return lane < first ? best_of(annealing_[lane]) : best_of(neighbourhoods_[lane - first]);
}

const RatedAllocation* SearchLanes::best_of_all(const std::optional<RatedPlan>& known) const {
  const RatedAllocation* found = nullptr;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::optional<RatedAllocation>* const own = best(i);
    if (own == nullptr || !*own || (known && !is_better(**own, *known))) continue;
    if (found == nullptr || is_better(**own, *found)) found = &**own;
  }
  return found;
}

}  // namespace shardwright::embedding
