#include "search/embedding/model/priced_choices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/embedding/model/search_context.h"

namespace shardwright::embedding {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTinyLoad = 1e-300;  // keeps a first guess of a price above zero

}  // namespace

PricedChoices::PricedChoices(const SearchContext& context, const Budget* budget)
    : context_(context), budget_(budget), model_(context.model()), pricing_(context.pricing()) {
  admit_below(kInfinity);
}

void PricedChoices::admit(const std::function<bool(const Choice&)>& test) {
  const std::span<const Choice> choices = model_.choices();
  admitted_.resize(choices.size());
  for (std::uint32_t i = 0; i < choices.size(); ++i)
    admitted_[i] = context_.fits(i) && test(choices[i]) ? 1 : 0;
}

void PricedChoices::admit_below(double shard_rating) {
  admit([&](const Choice& choice) { return context_.fastest(choice.max_load) <= shard_rating; });
}

std::uint32_t PricedChoices::cheapest_of(std::size_t table, const MemoryPrices& prices,
                                         double& cost) const {
  std::uint32_t cheapest = kNone;
  cost = kInfinity;
  std::uint32_t index = model_.first_choice(table);
  for (const Choice& choice : model_.choices(table)) {
    const std::uint32_t own_index = index++;
    if (admitted_[own_index] == 0) continue;
    const double own = cost_of(choice, prices);
    if (own >= cost) continue;
    cost = own;
    cheapest = own_index;
  }
  return cheapest;
}

std::vector<std::uint32_t> PricedChoices::cheapest(const MemoryPrices& prices) const {
  std::vector<std::uint32_t> chosen;
  double cost = 0;
  for (std::size_t table = 0; table < model_.num_tables(); ++table)
    chosen.push_back(cheapest_of(table, prices, cost));
  return chosen;
}

// Returns by choice its cost less that of its table's cheapest choice; infinite if not admitted.
std::vector<double> PricedChoices::excess_of_choices(const MemoryPrices& prices,
                                                     const ReachFactors& factors) const {
  std::vector<double> excess(model_.choices().size(), kInfinity);
  for (std::size_t table = 0; table < model_.num_tables(); ++table) {
    const std::uint32_t first = model_.first_choice(table);
    const std::uint32_t end = first + static_cast<std::uint32_t>(model_.choices(table).size());
    double least = kInfinity;
    for (std::uint32_t i = first; i < end; ++i) {
      if (admitted_[i] == 0) continue;
      const Choice& choice = model_.choices()[i];
      const double load = choice.load * factors[static_cast<std::size_t>(choice.reach)];
      excess[i] = add_priced(load, prices, choice.bytes);
      least = std::min(least, excess[i]);
    }
    for (std::uint32_t i = first; i < end; ++i) {
      if (admitted_[i] != 0) excess[i] -= least;
    }
  }
  return excess;
}

double PricedChoices::expected_excess(const std::vector<double>& excess, double temperature) const {
  double sum = 0;
  for (std::size_t table = 0; table < model_.num_tables(); ++table) {
    double weights = 0;
    double weighted = 0;
    const std::uint32_t first = model_.first_choice(table);
    for (std::uint32_t i = first; i < first + model_.choices(table).size(); ++i) {
      if (excess[i] == kInfinity) continue;
      const double weight = std::exp(-excess[i] / temperature);
      weights += weight;
      weighted += weight * excess[i];
    }
    sum += weighted / weights;
  }
  return sum;
}

std::vector<std::uint32_t> PricedChoices::draw(const MemoryPrices& prices,
                                               const ReachFactors& factors, double excess,
                                               int steps, RandomGenerator& random) const {
  const std::vector<double> above = excess_of_choices(prices, factors);
  double high = std::max(excess, kTinyLoad);
  double low = 0;
  for (int i = 0; i < steps && !is_stopped(); ++i) {
    const double middle = (low + high) / 2;
    (expected_excess(above, middle) < excess ? low : high) = middle;
  }
  std::vector<std::uint32_t> drawn;
  for (std::size_t table = 0; table < model_.num_tables(); ++table) {
    const std::uint32_t first = model_.first_choice(table);
    std::uint32_t chosen = kNone;
    double least = kInfinity;
    for (std::uint32_t i = first; i < first + model_.choices(table).size(); ++i) {
      if (above[i] == kInfinity) continue;
      // The logarithm of (an exponential variate / the choice's weight). The probability that a
      // choice has the least value is proportional to its weight.
      const double own = std::log(-std::log(1 - random.fraction())) + above[i] / high;
      if (chosen != kNone && !(own < least)) continue;
      least = own;
      chosen = i;
    }
    drawn.push_back(chosen);
  }
  return drawn;
}

PricedChoices::At PricedChoices::at(const MemoryPrices& prices) const {
  double sum = 0;
  PerTier<double> taken;
  for (std::size_t table = 0; table < model_.num_tables(); ++table) {
    double least = 0;
    const std::uint32_t index = cheapest_of(table, prices, least);
    if (index == kNone) return {kInfinity};
    sum += least;
    const PerTier<double>& bytes = model_.choices()[index].bytes;
    taken.hbm += bytes.hbm;
    taken.ddr += bytes.ddr;
    taken.ssd += bytes.ssd;
  }
  At result;
  for (const MemoryTier tier : kMemoryTiers) {
    sum -= prices[tier] * context_.total_bytes()[tier];
    result.spare[tier] = context_.total_bytes()[tier] - taken[tier];
  }
  result.bound = sum / context_.speed();
  return result;
}

// Sets the price of one tier so that the cheapest choices just fit. Keeps the other prices.
void PricedChoices::fit(int steps, double guess, MemoryTier tier, MemoryPrices& prices) const {
  const auto spare_at = [&](double value) {
    prices[tier] = value;
    return at(prices).spare[tier];
  };
  if (spare_at(0) >= 0) return;
  double high = guess;
  for (int i = 0; i < PricingParameters::kMostPriceGrowths && !is_stopped() && spare_at(high) < 0;
       ++i)
    high *= pricing_.price_growth;
  double low = 0;
  for (int i = 0; i < steps && !is_stopped(); ++i) {
    const double middle = (low + high) / 2;
    (spare_at(middle) < 0 ? low : high) = middle;
  }
  prices[tier] = high;
}

double PricedChoices::fit_prices(int steps, MemoryPrices& prices) const {
  const double unpriced = at({}).bound;
  if (unpriced == kInfinity) return unpriced;
  const double load = std::max(unpriced * context_.speed(), kTinyLoad);
  for (int turn = 0; turn < PricingParameters::kTurns && !is_stopped(); ++turn) {
    const MemoryPrices before = prices;
    for (const MemoryTier tier : model_.tiers())
      fit(steps, load / std::max(context_.total_bytes()[tier], 1.0), tier, prices);
    const auto scarce = std::count_if(kMemoryTiers.begin(), kMemoryTiers.end(),
                                      [&](MemoryTier tier) { return prices[tier] != 0; });
    if (before == prices || scarce < 2) break;
  }
  return std::max(unpriced, at(prices).bound);
}

}  // namespace shardwright::embedding
