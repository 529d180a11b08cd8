#include "search/embedding/best/local/choices_below.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

// The most that any single rank holds.
struct Held {
  double load = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
};

Held largest_shard(const ChoiceModel& model, const Choice& choice) {
  Held most;
  for (const ChoiceRun& run : model.runs(choice)) {
    most.load = std::max(most.load, run.load);
    most.hbm_bytes = std::max(most.hbm_bytes, run.hbm_bytes);
    most.ddr_bytes = std::max(most.ddr_bytes, run.ddr_bytes);
  }
  return most;
}

Held largest_room(const ChoiceModel& model) {
  Held most;
  for (const Storage& room : model.room()) {
    most.hbm_bytes = std::max(most.hbm_bytes, room.hbm.value());
    most.ddr_bytes = std::max(most.ddr_bytes, room.ddr.value());
  }
  return most;
}

Held on_all_ranks(const ChoiceModel& model, const std::vector<std::uint32_t>& chosen) {
  Held sum;
  for (const std::uint32_t index : chosen) {
    const Choice& choice = model.choices()[index];
    if (choice.reach != Reach::kAllRanks) continue;
    const Held own = largest_shard(model, choice);
    sum.load += own.load;
    sum.hbm_bytes += own.hbm_bytes;
    sum.ddr_bytes += own.ddr_bytes;
  }
  return sum;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor,
                                                        const ConstructParameters& parameters,
                                                        const Budget* budget) {
  const ChoiceModel& model = context.model();
  const Held room = largest_room(model);
  PricedChoices priced(context, budget);
  Held everywhere;
  for (int round = 0; round < parameters.most_agreement_rounds; ++round) {
    priced.admit([&](const Choice& choice) {
      const Held own = largest_shard(model, choice);
      if (choice.reach == Reach::kAllRanks) return context.fastest(own.load) < target;
      return context.fastest(own.load + everywhere.load) < target &&
             own.hbm_bytes + everywhere.hbm_bytes <= room.hbm_bytes &&
             own.ddr_bytes + everywhere.ddr_bytes <= room.ddr_bytes;
    });
    MemoryPrices prices;
    const double bound = priced.fit_prices(parameters.price_steps, prices);
    if (budget != nullptr && budget->interrupted()) return std::nullopt;
    if (bound > target || bound == std::numeric_limits<double>::infinity()) return std::nullopt;
    std::vector<std::uint32_t> chosen =
        priced.cheapest({price_factor * prices.hbm, price_factor * prices.ddr});
    const Held now = on_all_ranks(model, chosen);
    if (now.load <= everywhere.load && now.hbm_bytes <= everywhere.hbm_bytes &&
        now.ddr_bytes <= everywhere.ddr_bytes) {
      return chosen;
    }
    everywhere = now;
  }
  return std::nullopt;
}

}  // namespace shardwright::embedding
