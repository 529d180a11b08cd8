#include "core/embedding/bound/pricing/item_classes.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

// Combinations of the shards of one option on one rank; a certificate that needs more is refused.
constexpr std::size_t kMaxCombinations = 4096;

// The number of copies that never fit, by the smallest use of each resource.
std::uint32_t multiplicity_bound_of(const RankItemClass& own, const RankCapacity& capacity) {
  ShardSet least = own.items.front().shards;
  for (const RankItem& item : own.items)
    least = componentwise_min(least, item.shards);
  double most = own.copies;
  const auto limit = [&](double room, double size) {
    if (size > 0) most = std::min(most, room / size * (1 + kLoadSumSlack));
  };
  limit(capacity.load_limit, least.load);
  for (const MemoryTier tier : kMemoryTiers)
    limit(rounded_up(capacity.room[tier].value()), rounded_down(least.storage[tier].value()));
  return static_cast<std::uint32_t>(std::max(0.0, most)) + 1;
}

}  // namespace

bool add_items(const RankCapacity& capacity, const std::vector<ShardSet>& runs,
               const std::vector<std::uint32_t>& counts, RankItemClass& into) {
  std::vector<ShardSet> combinations{ShardSet{}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].value <= 0) continue;  // holding them gains nothing
    const std::size_t before = combinations.size();
    for (std::size_t c = 0; c < before; ++c) {
      ShardSet more = combinations[c];
      for (std::uint32_t k = 0; k < counts[i]; ++k) {
        more = sum(more, runs[i]);
        if (!capacity.fits(more)) break;
        combinations.push_back(more);
        if (combinations.size() > kMaxCombinations) return false;
      }
    }
  }
  for (std::size_t c = 1; c < combinations.size(); ++c) {
    const ShardSet& own = combinations[c];
    into.items.push_back({own, capacity.reduced_value(own)});
    into.best_reduced_value = std::max(into.best_reduced_value, into.items.back().reduced_value);
    into.max_use.load = std::max(into.max_use.load, own.load);
    into.max_use.storage = most_of(into.max_use.storage, own.storage);
  }
  return true;
}

void merge_identical(const RankCapacity& capacity, std::vector<RankItemClass>& classes) {
  const auto key = [](const RankItem& item) {
    return std::tuple(item.shards.value, item.shards.load, item.shards.storage);
  };
  const auto before = [&](const RankItem& a, const RankItem& b) { return key(a) < key(b); };
  for (RankItemClass& own : classes)
    std::sort(own.items.begin(), own.items.end(), before);
  std::sort(classes.begin(), classes.end(), [&](const RankItemClass& a, const RankItemClass& b) {
    return std::lexicographical_compare(a.items.begin(), a.items.end(), b.items.begin(),
                                        b.items.end(), before);
  });
  std::vector<RankItemClass> merged;
  for (RankItemClass& own : classes) {
    if (own.items.empty()) continue;
    const bool identical =
        !merged.empty() &&
        std::equal(own.items.begin(), own.items.end(), merged.back().items.begin(),
                   merged.back().items.end(),
                   [&](const RankItem& a, const RankItem& b) { return key(a) == key(b); });
    if (identical) {
      ++merged.back().copies;
    } else {
      merged.push_back(std::move(own));
    }
  }
  classes = std::move(merged);
  for (RankItemClass& own : classes)
    own.multiplicity_bound = multiplicity_bound_of(own, capacity);
}

}  // namespace shardwright::embedding
