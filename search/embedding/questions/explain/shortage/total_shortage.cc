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

// The least that the tables need, and what the ranks have, if a byte of HBM counts `hbm_weight` and
// a byte of DDR the rest of 1.
struct WeightedBytes {
  double needed = 0;
  double room = 0;

  double lack() const { return needed - room; }
};

WeightedBytes weighted_bytes(const MemoryNeeds& needs, double hbm_weight) {
  const auto weighted = [&](double hbm, double ddr) {
    return hbm_weight * hbm + (1 - hbm_weight) * ddr;
  };
  WeightedBytes sum;
  std::size_t tables = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) break;
    double least = static_cast<double>(kMostBytes);
    for (const OptionNeed& need : table.options) {
      least = std::min(least, weighted(static_cast<double>(need.total.hbm.value()),
                                       static_cast<double>(need.total.ddr.value())));
    }
    sum.needed += least;
  }
  double hbm_room = 0;
  double ddr_room = 0;
  for (const Storage& room : needs.room()) {
    hbm_room += static_cast<double>(room.hbm.value());
    ddr_room += static_cast<double>(room.ddr.value());
  }
  sum.room = weighted(hbm_room, ddr_room);
  return sum;
}

// The weight at which most is lacking: a Lagrangian relaxation of both tiers, whose dual function
// is concave in the weight.
std::optional<MemoryShortage> weighted_shortage(const MemoryNeeds& needs) {
  double low = 0;
  double high = 1;
  for (int step = 0; step < kWeightSteps; ++step) {
    const double third = (high - low) / 3;
    if (weighted_bytes(needs, low + third).lack() < weighted_bytes(needs, high - third).lack()) {
      low += third;
    } else {
      high -= third;
    }
  }
  const WeightedBytes sum = weighted_bytes(needs, (low + high) / 2);
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
