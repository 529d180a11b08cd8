#include "search/embedding/best/choices/even_weights.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

constexpr double kTinyMean = 1e-300;  // keeps quotients finite

}  // namespace

EvenWeights even_weights(const SearchContext& context, std::span<const std::uint32_t> choices,
                         const ConstructParameters& parameters) {
  EvenWeights weights;
  double load = 0;
  for (const std::uint32_t choice : choices) {
    const Choice& chosen = context.model().choices()[choice];
    load += chosen.load;
    for (const MemoryTier tier : kMemoryTiers)
      weights.total_bytes[tier] += chosen.bytes[tier];
  }
  weights.mean_load = std::max(load / context.speed(), kTinyMean);
  for (const MemoryTier tier : kMemoryTiers) {
    const double fill = weights.total_bytes[tier] / std::max(context.total_bytes()[tier], 1.0);
    weights.bytes[tier] = fill > parameters.scarce_fill ? fill : 0;
  }
  return weights;
}

}  // namespace shardwright::embedding
