#include "search/embedding/best/exact/neighbourhood_lane.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace shardwright::embedding {
namespace {

// Differs from the keys of the annealing lanes.
std::uint64_t key_of(std::uint64_t seed, std::uint32_t lane) {
  constexpr std::uint64_t kSeedFactor = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kLaneFactor = 0xaf251af3b0f025b5ULL;
  constexpr std::uint64_t kOffset = 0x2545f4914f6cdd1dULL;
  return seed * kSeedFactor + lane * kLaneFactor + kOffset;
}

}  // namespace

NeighbourhoodLane::NeighbourhoodLane(const SearchContext& context, std::uint64_t seed,
                                     std::uint32_t lane, const NeighbourhoodParameters& parameters)
    : parameters_(parameters),
      context_(&context),
      state_(context),
      incumbent_(context),
      neighbourhood_(state_),
      whole_(incumbent_.scratch()),
      random_(key_of(seed, lane)),
      whole_work_(lane == 0 && context.model().num_tables() <= parameters.most_whole_tables
                      ? parameters.first_whole_work
                      : 0),
      in_window_(context.model().world_size(), 0) {}

void NeighbourhoodLane::offer(const RatedPlan& found) {
  if (incumbent_.offer(found, state_)) begin_from_best();
}

void NeighbourhoodLane::begin_from_best() {
  state_.assign(incumbent_.best()->allocation);
  state_.clear_changed();
}

void NeighbourhoodLane::settle(std::uint64_t most_work, const Budget& budget) {
  if (incumbent_.is_settled()) return;
  incumbent_.settle(most_work, budget);
  own_work_ += incumbent_.take_settling_work();
  begin_from_best();
}

// Places every table anew, on any rank.
void NeighbourhoodLane::try_whole(std::uint64_t work) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double below =
      incumbent_.exists() ? incumbent_.rating() * (1 - kLeastProgress) : kNone;
  const ChoiceModel& model = context_->model();
  window_.resize(model.world_size());
  std::iota(window_.begin(), window_.end(), Rank{0});
  items_.clear();
  for (std::uint32_t table = 0; table < model.num_tables(); ++table)
    items_.push_back({table, FreeItem::kWholeTable});
  AllocationState& scratch = incumbent_.scratch();
  scratch.clear();
  const SubproblemAnswer answer = whole_.solve({items_, window_, below, below, work});
  solved_ = answer.complete;
  if (!answer.better) return;
  Allocation found(model.num_tables());
  for (std::size_t table = 0; table < model.num_tables(); ++table)
    scratch.copy_table(table, found);
  if (incumbent_.offer(std::move(found))) begin_from_best();
}

// The busiest rank and a few others, most of them idle ones.
void NeighbourhoodLane::choose_window() {
  const std::span<const RankLoad> ranks = state_.ranks();
  const auto size = static_cast<std::uint32_t>(ranks.size());
  const double most = state_.max_load() * (1 - kLeastProgress);
  Rank busiest = random_.below(size);
  while (ranks[busiest].load < most)
    busiest = (busiest + 1) % size;
  window_.assign(1, busiest);
  std::fill(in_window_.begin(), in_window_.end(), std::uint8_t{0});
  in_window_[busiest] = 1;
  const std::uint32_t local = context_->model().local_world_size();
  const bool on_host = local > 1 && random_.below(parameters_.on_host_one_in) == 0;
  const std::uint32_t first = on_host ? busiest / local * local : 0;
  const std::uint32_t count = on_host ? std::min(local, size - first) : size;
  const std::size_t wanted = std::min<std::size_t>(
      parameters_.least_window + random_.below(parameters_.window_spread), count);
  for (int tries = 0; tries < parameters_.window_draws && window_.size() < wanted; ++tries) {
    Rank rank = first + random_.below(count);
    const Rank other = first + random_.below(count);
    if (ranks[other].load < ranks[rank].load) rank = other;
    if (in_window_[rank] != 0) continue;
    in_window_[rank] = 1;
    window_.push_back(rank);
  }
  std::sort(window_.begin(), window_.end());
  own_work_ += size;
}

// Returns true if all shards of the table are in the window.
bool NeighbourhoodLane::is_inside(std::uint32_t table) const {
  const std::uint32_t first = context_->first_slot(table);
  for (std::uint32_t i = 0; i < state_.chosen(table).num_shards; ++i) {
    if (in_window_[state_.slot(first + i).rank] == 0) return false;
  }
  return true;
}

void NeighbourhoodLane::choose_items(bool with_choices) {
  items_.clear();
  for (const Rank rank : window_) {
    for (const std::uint32_t slot : state_.shards_on(rank)) {
      const std::uint32_t table = state_.slot(slot).table;
      own_work_ += state_.chosen(table).num_shards;
      if (with_choices && is_inside(table)) {
        const bool first = slot == context_->first_slot(table);
        if (first) items_.push_back({table, FreeItem::kWholeTable});
      } else if (state_.chosen(table).reach != Reach::kWholeHosts) {
        items_.push_back({table, slot});
      }
    }
  }
  const std::uint32_t any = random_.below(context_->model().num_tables());
  if (with_choices && state_.chosen(any).reach == Reach::kAllRanks)
    items_.push_back({any, FreeItem::kWholeTable});
  const std::size_t most = with_choices ? parameters_.items_with_choices : parameters_.items_placed;
  for (std::size_t i = 0; i < std::min(items_.size(), most); ++i)
    std::swap(items_[i], items_[i + random_.below(items_.size() - i)]);
  if (items_.size() > most) items_.resize(most);
}

void NeighbourhoodLane::step() {
  choose_window();
  choose_items(random_.coin());
  if (items_.empty()) return;
  const double most = state_.max_load() * (1 - kLeastProgress);
  if (!neighbourhood_.solve({items_, window_, most, most, parameters_.step_work}).better) return;
  if (state_.max_load() <= incumbent_.rating()) incumbent_.keep(state_);
}

void NeighbourhoodLane::run(std::uint64_t work, double lower_bound, const Budget& budget) {
  const std::uint64_t begin = this->work();
  const std::uint64_t end = begin + work;
  if (!solved_ && !incumbent_.at_bound(lower_bound) && whole_work_ > 0) {
    try_whole(std::min(whole_work_, work));
    whole_work_ =
        whole_work_ < parameters_.last_whole_work ? parameters_.whole_work_growth * whole_work_ : 0;
  }
  while (parameters_.is_on && incumbent_.exists() && !solved_ && this->work() < end &&
         !incumbent_.at_bound(lower_bound) && !budget.interrupted()) {
    step();
  }
  settle(this->work() - begin, budget);
}

}  // namespace shardwright::embedding
