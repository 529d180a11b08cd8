#include "search/embedding/best/exact/free_items.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr double kTinyBound = 1e-300;  // keeps quotients finite

}  // namespace

FreeItems::FreeItems(const AllocationState& state) : state_(&state) {
  const SearchContext& context = state.context();
  const auto alone = [&](MemoryTier tier) {
    MemoryPrices prices;
    prices[tier] = 1 / std::max(context.total_bytes()[tier], 1.0);
    return prices;
  };
  load_price_ = {1, 0, 0, 1};
  prices_ = {MemoryPrices(), alone(MemoryTier::kHbm), alone(context.scarce_tier()),
             context.prices()};
}

// Of a choice on all ranks, only what the ranks of the window hold.
FreeItems::Priced FreeItems::priced_in_window(const Choice& choice,
                                              const RankWindow& window) const {
  ShardUse all{choice.load, choice.storage};
  if (choice.reach == Reach::kAllRanks && !window.holds_all_ranks()) {
    all = {};
    Rank rank = 0;
    for (const ChoiceRun& run : state_->model().runs(choice)) {
      for (std::uint32_t k = 0; k < run.count; ++k) {
        if (!window.contains(rank++)) continue;
        all.load += run.load;
        all.storage += run.storage;
      }
    }
  }
  Priced sum;
  for (std::size_t p = 0; p < kPrices; ++p)
    sum[p] = priced(p, all.load, all.storage);
  return sum;
}

void FreeItems::collect_choices(Item& item, const RankWindow& window, double below) {
  const ChoiceModel& model = state_->model();
  const SearchContext& context = state_->context();
  item.first_choice = static_cast<std::uint32_t>(choices_.size());
  item.least_priced.fill(std::numeric_limits<double>::infinity());
  item.least.load = std::numeric_limits<double>::infinity();
  constexpr Bytes kMost(std::numeric_limits<std::int64_t>::max());
  item.least.storage = {kMost, kMost, kMost};
  for (std::uint32_t i = 0; i < model.choices(item.free.table).size(); ++i) {
    const std::uint32_t index = model.first_choice(item.free.table) + i;
    const Choice& choice = model.choices()[index];
    if (!context.fits(index) || context.fastest(choice.max_load) >= below) continue;
    choices_.push_back(index);
    const Priced own = priced_in_window(choice, window);
    for (std::size_t p = 0; p < kPrices; ++p)
      item.least_priced[p] = std::min(item.least_priced[p], own[p]);
    for (const ChoiceRun& run : model.runs(choice)) {
      item.least.load = std::min(item.least.load, run.load);
      item.least.storage = least_of(item.least.storage, run.storage);
    }
  }
  item.num_choices = static_cast<std::uint32_t>(choices_.size()) - item.first_choice;
  std::stable_sort(choices_.begin() + item.first_choice, choices_.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return context.priced(model.choices()[a]) < context.priced(model.choices()[b]);
                   });
}

void FreeItems::sort() {
  const SearchContext& context = state_->context();
  const double load = std::max(context.bound() * context.speed(), kTinyBound);
  for (Item& item : items_) {
    item.size = std::max({item.least_priced[0] / load, item.least_priced[1], item.least_priced[2]});
  }
  std::stable_sort(items_.begin(), items_.end(),
                   [](const Item& a, const Item& b) { return a.size > b.size; });
}

void FreeItems::sum_from_the_end() {
  for (std::size_t i = items_.size(); i > 0; --i) {
    Item& item = items_[i - 1];
    item.needed = item.least_priced;
    item.smallest = item.least;
    if (i == items_.size()) continue;
    const Item& next = items_[i];
    for (std::size_t p = 0; p < kPrices; ++p)
      item.needed[p] += next.needed[p];
    item.smallest.load = std::min(item.smallest.load, next.smallest.load);
    item.smallest.storage = least_of(item.smallest.storage, next.smallest.storage);
  }
}

void FreeItems::find_equal_neighbours() {
  for (std::size_t i = 1; i < items_.size(); ++i) {
    const Item& before = items_[i - 1];
    Item& item = items_[i];
    if (item.is_table() || before.is_table()) continue;
    item.like_before =
        item.free.table == before.free.table && are_interchangeable(item.use, before.use);
  }
}

void FreeItems::assign(std::span<const FreeItem> items, const RankWindow& window, double below) {
  items_.clear();
  choices_.clear();
  for (const FreeItem& free : items) {
    Item item;
    item.free = free;
    if (item.is_table()) {
      collect_choices(item, window, below);
    } else {
      item.use = state_->slot(free.slot).use;
      item.least = {item.use.load, item.use.storage};
      for (std::size_t p = 0; p < kPrices; ++p)
        item.least_priced[p] = priced(p, item.use.load, item.use.storage);
    }
    items_.push_back(item);
  }
  sort();
  sum_from_the_end();
  find_equal_neighbours();
}

}  // namespace shardwright::embedding
