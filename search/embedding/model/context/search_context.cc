#include "search/embedding/model/context/search_context.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {

SearchContext::SearchContext(const ChoiceModel& model, const PricingParameters& pricing,
                             const Budget& budget)
    : model_(&model), pricing_(pricing), units_(model) {
  for (Rank rank = 0; rank < model.world_size(); ++rank)
    speed_ += 1 / model.time_scale(rank);
  const std::span<const double> scales = model.time_scale();
  if (!scales.empty()) least_scale_ = *std::min_element(scales.begin(), scales.end());
  least_room_ = model.room().front();
  for (const Storage& room : model.room()) {
    for (const MemoryTier tier : kMemoryTiers) {
      least_room_[tier] = std::min(least_room_[tier], room[tier]);
      total_bytes_[tier] += static_cast<double>(std::max(room[tier], Bytes()).value());
    }
  }
  find_fitting();
  expand_shards();
  find_prices(budget);
}

bool SearchContext::every_shard_fits(std::size_t table, const Choice& choice) const {
  const PlacementRules& rules = model_->rules();
  const bool by_shard = !rules.same_for_all_shards(model_->table(table));
  const std::span<const Storage> room = model_->room();
  std::uint32_t shard = 0;
  for (const ChoiceRun& run : model_->runs(choice)) {
    if (choice.reach == Reach::kAllRanks && run.storage.fits_in(least_room_)) {
      shard += run.count;
      continue;
    }
    const auto holds = [&](Rank rank) {
      return run.storage == Storage() || run.storage.fits_in(room[rank]);
    };
    for (std::uint32_t k = 0; k < run.count; ++k, ++shard) {
      const RankSet* const allowed = rules.allowed(model_->table(table), shard);
      bool fits = choice.reach == Reach::kAllRanks && holds(shard);
      for (Rank rank = 0; choice.reach != Reach::kAllRanks && rank < room.size() && !fits; ++rank)
        fits = (allowed == nullptr || allowed->contains(rank)) && holds(rank);
      if (!fits) return false;
      if (!by_shard && choice.reach != Reach::kAllRanks) {
        shard += run.count;  // all equal
        break;
      }
    }
  }
  return true;
}

void SearchContext::find_fitting() {
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    for (const Choice& choice : model_->choices(table))
      fits_.push_back(every_shard_fits(table, choice) ? 1 : 0);
  }
}

void SearchContext::expand_shards() {
  first_slot_.push_back(0);
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    std::uint32_t slots = 0;
    for (const Choice& choice : model_->choices(table)) {
      first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
      if (choice.reach == Reach::kAllRanks) continue;
      slots = std::max(slots, choice.num_shards);
      for (const ChoiceRun& run : model_->runs(choice))
        uses_.insert(uses_.end(), run.count, ShardUse{run.load, run.storage});
      if (!model_->rules().constrains(model_->table(table))) continue;
      for (std::uint32_t shard = 0; shard < choice.num_shards; ++shard) {
        ShardUse& use = uses_[first_use_.back() + shard];
        use.table = static_cast<std::uint32_t>(table);
        use.shard = shard;
      }
    }
    first_slot_.push_back(first_slot_.back() + slots);
  }
}

// The least rating at which every table has a choice whose largest shard rates no higher.
double SearchContext::largest_needed_shard() const {
  double most = 0;
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t index = model_->first_choice(table);
    for (const Choice& choice : model_->choices(table)) {
      if (fits(index++)) least = std::min(least, fastest(choice.max_load));
    }
    most = std::max(most, least);
  }
  return most;
}

// A rating is contradicted if the choices that are possible at it have a higher lower bound. Finds
// the least rating that is not contradicted.
void SearchContext::find_prices(const Budget& budget) {
  PricedChoices choices(*this, &budget);
  double low = largest_needed_shard();  // no allocation rates below
  const double unlimited = choices.fit_prices(pricing_.fine_steps, prices_);
  low = std::max(low, unlimited);
  prices_by_fill_.assign(1, prices_);
  if (!(low < std::numeric_limits<double>::infinity())) {
    bound_ = low;  // some table fits nowhere
    return;
  }
  MemoryPrices prices;
  const auto contradicts = [&](double rating) {
    choices.admit_below(rating);
    return choices.fit_prices(pricing_.coarse_steps, prices) > rating;
  };
  double high = low;
  while (high < std::numeric_limits<double>::max() / (2 * pricing_.bound_growth) &&
         !budget.interrupted() && contradicts(high)) {
    low = high;
    high *= pricing_.bound_growth;
  }
  for (int i = 0;
       i < pricing_.bound_steps && high > low * pricing_.bound_width && !budget.interrupted();
       ++i) {
    const double middle = (low + high) / 2;
    (contradicts(middle) ? low : high) = middle;
  }
  bound_ = low;
  choices.admit_below(high);
  choices.fit_prices(pricing_.fine_steps, prices_);
  prices_by_fill_.assign(1, prices_);
  if (prices_ == MemoryPrices()) return;
  for (const double fill : pricing_.fills) {
    if (budget.interrupted()) return;
    MemoryPrices own = prices_;
    choices.fit_prices(pricing_.fine_steps, own, fill);
    prices_by_fill_.push_back(own);
  }
}

}  // namespace shardwright::embedding
