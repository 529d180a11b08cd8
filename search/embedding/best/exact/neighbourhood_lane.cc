#include "search/embedding/best/exact/neighbourhood_lane.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "search/embedding/best/local/tie_breaking.h"

namespace shardwright::embedding {
namespace {

constexpr double kLeastProgress = 1e-9;        // relative
constexpr std::size_t kMostTables = 24;        // of a model that is tried whole
constexpr std::uint64_t kFirstWhole = 20'000;  // work
constexpr std::uint64_t kLastWhole = 4'000'000;
constexpr std::uint64_t kStepWork = 20'000;
constexpr std::size_t kFewItems = 8;    // with their choices
constexpr std::size_t kManyItems = 14;  // only placed

}  // namespace

NeighbourhoodLane::NeighbourhoodLane(const SearchContext& context, std::uint64_t seed)
    : context_(&context),
      loads_(context),
      scratch_(context),
      exact_(loads_),
      whole_(scratch_),
      draws_(seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL),
      whole_work_(context.model().num_tables() <= kMostTables ? kFirstWhole : 0),
      in_window_(context.model().world_size(), 0) {}

void NeighbourhoodLane::offer(const Allocation& start) {
  if (!reference_) reference_ = start;
  take(start);
}

void NeighbourhoodLane::take(const Allocation& start) {
  scratch_.assign(start);
  if (!scratch_.all_good()) return;
  RatedAllocation rated{start, scratch_.max_load(), scratch_.peak_hbm()};
  if (best_ && !is_better(rated, *best_)) return;
  best_ = std::move(rated);
  settled_ = false;
  loads_.assign(best_->allocation);
  loads_.clear_changed();
}

void NeighbourhoodLane::keep_best() {
  for (const std::uint32_t table : loads_.changed_tables())
    loads_.copy_table(table, best_->allocation);
  loads_.clear_changed();
  best_->rating = loads_.max_load();
  best_->peak_hbm_bytes = loads_.peak_hbm();
  settled_ = false;
}

void NeighbourhoodLane::settle_best() {
  if (!best_ || settled_) return;
  settled_ = true;
  scratch_.assign(best_->allocation);
  scratch_.clear_changed();
  break_ties(scratch_, reference_ ? &*reference_ : nullptr);
  for (const std::uint32_t table : scratch_.changed_tables())
    scratch_.copy_table(table, best_->allocation);
  scratch_.recompute();
  best_->rating = scratch_.max_load();
  best_->peak_hbm_bytes = scratch_.peak_hbm();
  loads_.assign(best_->allocation);
  loads_.clear_changed();
}

// Every rank and table anew.
void NeighbourhoodLane::try_whole(std::uint64_t work) {
  const ChoiceModel& model = context_->model();
  window_.resize(model.world_size());
  std::iota(window_.begin(), window_.end(), Rank{0});
  items_.clear();
  for (std::uint32_t table = 0; table < model.num_tables(); ++table)
    items_.push_back({table, FreeItem::kWholeTable});
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double below = best_ ? best_->rating * (1 - BranchAndBound::kLeastGain) : kNone;
  scratch_.clear();
  const SubproblemAnswer answer = whole_.solve({items_, window_, below, below, work});
  solved_ = answer.complete;
  if (!answer.better) return;
  Allocation found;
  found.choice.resize(model.num_tables());
  found.ranks.resize(model.num_tables());
  for (std::size_t table = 0; table < model.num_tables(); ++table)
    scratch_.copy_table(table, found);
  take(found);
}

// The busiest rank and one to three others, most of them idle ones.
void NeighbourhoodLane::choose_window() {
  const std::span<const RankLoad> ranks = loads_.ranks();
  const auto size = static_cast<std::uint32_t>(ranks.size());
  const double most = loads_.max_load() * (1 - kLeastProgress);
  Rank busiest = draws_.below(size);
  while (ranks[busiest].load < most)
    busiest = (busiest + 1) % size;
  window_.assign(1, busiest);
  std::fill(in_window_.begin(), in_window_.end(), std::uint8_t{0});
  in_window_[busiest] = 1;
  const std::uint32_t local = context_->model().local_world_size();
  const bool on_host = local > 1 && draws_.below(3) == 0;
  const std::uint32_t first = on_host ? busiest / local * local : 0;
  const std::uint32_t count = on_host ? local : size;
  const std::size_t wanted = std::min<std::size_t>(2 + draws_.below(3), count);
  for (int tries = 0; tries < 20 && window_.size() < wanted; ++tries) {
    Rank rank = first + draws_.below(count);
    const Rank other = first + draws_.below(count);
    if (ranks[other].load < ranks[rank].load) rank = other;
    if (in_window_[rank] != 0) continue;
    in_window_[rank] = 1;
    window_.push_back(rank);
  }
  std::sort(window_.begin(), window_.end());
  own_work_ += size;
}

// Whether all shards of the table are in the window.
bool NeighbourhoodLane::is_inside(std::uint32_t table) const {
  const std::uint32_t first = context_->first_slot(table);
  for (std::uint32_t i = 0; i < loads_.chosen(table).num_shards; ++i) {
    if (in_window_[loads_.slot(first + i).rank] == 0) return false;
  }
  return true;
}

void NeighbourhoodLane::choose_items(bool with_choices) {
  items_.clear();
  for (const Rank rank : window_) {
    for (const std::uint32_t slot : loads_.shards_on(rank)) {
      const std::uint32_t table = loads_.slot(slot).table;
      own_work_ += loads_.chosen(table).num_shards;
      if (with_choices && is_inside(table)) {
        const bool first = slot == context_->first_slot(table);
        if (first) items_.push_back({table, FreeItem::kWholeTable});
      } else if (loads_.chosen(table).reach != Reach::kWholeHosts) {
        items_.push_back({table, slot});
      }
    }
  }
  const std::uint32_t any = draws_.below(context_->model().num_tables());
  if (with_choices && loads_.chosen(any).reach == Reach::kAllRanks)
    items_.push_back({any, FreeItem::kWholeTable});
  const std::size_t most = with_choices ? kFewItems : kManyItems;
  for (std::size_t i = 0; i < std::min(items_.size(), most); ++i)
    std::swap(items_[i], items_[i + draws_.below(items_.size() - i)]);
  if (items_.size() > most) items_.resize(most);
}

void NeighbourhoodLane::step() {
  choose_window();
  choose_items((draws_.bits() & 1) != 0);
  if (items_.empty()) return;
  const double most = loads_.max_load() * (1 - kLeastProgress);
  if (!exact_.solve({items_, window_, most, most, kStepWork}).better) return;
  if (loads_.max_load() <= best_->rating) keep_best();
}

void NeighbourhoodLane::run(std::uint64_t work, double lower_bound, const Budget& budget) {
  const std::uint64_t end = this->work() + work;
  const auto at_bound = [&] {
    return best_ && best_->rating <= lower_bound * (1 + kLeastProgress);
  };
  if (!solved_ && !at_bound() && whole_work_ > 0) {
    try_whole(std::min(whole_work_, work));
    whole_work_ = whole_work_ < kLastWhole ? 4 * whole_work_ : 0;
  }
  while (best_ && !solved_ && this->work() < end && !at_bound() && !budget.interrupted())
    step();
  settle_best();
}

}  // namespace shardwright::embedding
