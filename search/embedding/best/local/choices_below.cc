#include "search/embedding/best/local/choices_below.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

// The most that any single rank holds.
struct Held {
  double load = 0;
  Storage storage;
};

Held largest_shard(const ChoiceModel& model, const Choice& choice) {
  Held most;
  for (const ChoiceRun& run : model.runs(choice)) {
    most.load = std::max(most.load, run.load);
    most.storage = most_of(most.storage, run.storage);
  }
  return most;
}

Storage largest_room(const ChoiceModel& model) {
  Storage most;
  for (const Storage& room : model.room())
    most = most_of(most, room);
  return most;
}

Held on_all_ranks(const ChoiceModel& model, const std::vector<std::uint32_t>& chosen) {
  Held sum;
  for (const std::uint32_t index : chosen) {
    const Choice& choice = model.choices()[index];
    if (choice.reach != Reach::kAllRanks) continue;
    const Held own = largest_shard(model, choice);
    sum.load += own.load;
    sum.storage += own.storage;
  }
  return sum;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor,
                                                        const ConstructParameters& parameters,
                                                        const Budget* budget) {
  const ChoiceModel& model = context.model();
  const Storage room = largest_room(model);
  PricedChoices priced(context, budget);
  Held everywhere;
  for (int round = 0; round < parameters.most_agreement_rounds; ++round) {
    priced.admit([&](const Choice& choice) {
      const Held own = largest_shard(model, choice);
      if (choice.reach == Reach::kAllRanks) return context.fastest(own.load) < target;
      return context.fastest(own.load + everywhere.load) < target &&
             (own.storage + everywhere.storage).fits_in(room);
    });
    MemoryPrices prices;
    const double bound = priced.fit_prices(parameters.price_steps, prices);
    if (budget != nullptr && budget->interrupted()) return std::nullopt;
    if (bound > target || bound == std::numeric_limits<double>::infinity()) return std::nullopt;
    for (const MemoryTier tier : kMemoryTiers)
      prices[tier] *= price_factor;
    std::vector<std::uint32_t> chosen = priced.cheapest(prices);
    const Held now = on_all_ranks(model, chosen);
    if (now.load <= everywhere.load && now.storage.fits_in(everywhere.storage)) return chosen;
    everywhere = now;
  }
  return std::nullopt;
}

}  // namespace shardwright::embedding
