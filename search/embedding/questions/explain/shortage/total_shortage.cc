// All tables need more memory than all ranks have.
#include <algorithm>
#include <numeric>

#include "search/embedding/questions/explain/shortage/shortage_proofs.h"

namespace shardwright::embedding {
namespace {

// How much a sum of doubles must exceed another, relatively, to count as larger.
constexpr double kRounding = 1e-9;
// Ternary search: each step leaves two thirds of the interval of weights.
constexpr int kWeightSteps = 40;
// How often the weights are set in turn where there are three tiers.
constexpr int kTurns = 3;

// How much a byte of each tier counts; 1 together.
PerTier<double> weights_of(double hbm, double ssd) {
  return {hbm * (1 - ssd), (1 - hbm) * (1 - ssd), ssd};
}

// The least that the tables need, and what the ranks have.
struct WeightedBytes {
  double needed = 0;
  double room = 0;

  double lack() const { return needed - room; }
};

WeightedBytes weighted_bytes(const MemoryNeeds& needs, const PerTier<double>& weights) {
  WeightedBytes sum;
  std::size_t tables = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) break;
    double least = static_cast<double>(kMostBytes);
    for (const OptionNeed& need : table.options)
      least = std::min(least, add_priced(0, weights, as_doubles(need.total)));
    sum.needed += least;
  }
  PerTier<double> all;
  for (const Storage& room : needs.room()) {
    for (const MemoryTier tier : kMemoryTiers)
      all[tier] += static_cast<double>(room[tier].value());
  }
  sum.room = add_priced(0, weights, all);
  return sum;
}

// The weight at which a concave function is largest.
template <class Function>
double best_weight(const Function& function) {
  double low = 0;
  double high = 1;
  for (int step = 0; step < kWeightSteps; ++step) {
    const double third = (high - low) / 3;
    if (function(low + third) < function(high - third)) {
      low += third;
    } else {
      high -= third;
    }
  }
  return (low + high) / 2;
}

// The weights at which most is lacking: a Lagrangian relaxation of all tiers, whose dual function
// is concave in each weight. Setting three weights in turn may miss the best ones.
PerTier<double> best_weights(const MemoryNeeds& needs) {
  const auto lack = [&](double hbm, double ssd) {
    return weighted_bytes(needs, weights_of(hbm, ssd)).lack();
  };
  double ssd = 0;
  double hbm = best_weight([&](double own) { return lack(own, ssd); });
  for (int turn = 0; turn < kTurns && needs.available().has_ssd(); ++turn) {
    ssd = best_weight([&](double own) { return lack(hbm, own); });
    hbm = best_weight([&](double own) { return lack(own, ssd); });
  }
  return weights_of(hbm, ssd);
}

std::optional<MemoryShortage> weighted_shortage(const MemoryNeeds& needs) {
  const WeightedBytes sum = weighted_bytes(needs, best_weights(needs));
  if (sum.lack() <= kRounding * (sum.needed + sum.room)) return std::nullopt;
  MemoryShortage shortage;
  shortage.tier = MemoryShortage::Tier::kWeighted;
  for (const TableNeeds& table : needs.tables())
    shortage.tables.push_back(table.table);
  shortage.needed_bytes = static_cast<std::int64_t>(sum.needed);
  shortage.available_bytes = static_cast<std::int64_t>(sum.room);
  return shortage;
}

}  // namespace

std::optional<MemoryShortage> shortage_in_total(const MemoryNeeds& needs) {
  std::vector<const TableNeeds*> tables;
  for (const TableNeeds& table : needs.tables())
    tables.push_back(&table);
  std::vector<Rank> ranks(needs.available().world_size());
  std::iota(ranks.begin(), ranks.end(), Rank{0});
  auto shortage = needs.exceeds(tables, ranks);
  if (!shortage) shortage = weighted_shortage(needs);
  if (shortage) shortage->kind = MemoryShortage::Kind::kTotal;
  return shortage;
}

}  // namespace shardwright::embedding
