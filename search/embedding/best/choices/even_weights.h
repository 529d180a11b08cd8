// How much an even load and even memory are worth when shards are placed.
#pragma once

#include <cstdint>
#include <span>

#include "search/embedding/best/parameters/construct_parameters.h"
#include "search/embedding/model/context/search_context.h"

namespace shardwright::embedding {

// Weights of memory, and what they follow from. The square of the bytes on a rank, relative to its
// capacity, counts with this weight. A weight of zero leaves that memory out. Thread safety: a
// value.
struct EvenWeights {
  double mean_load = 0;  // of a rank, if loads are even; above zero
  PerTier<double> bytes = {};
  PerTier<double> total_bytes = {};
};

// For these choices of all tables: memory counts if they fill much of it.
EvenWeights even_weights(const SearchContext& context, std::span<const std::uint32_t> choices,
                         const ConstructParameters& parameters);

}  // namespace shardwright::embedding
