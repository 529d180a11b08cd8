// Prices of load and memory on every rank, at which no plan below a rating can pay for its shards.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/embedding/best/whole/whole_model.h"

namespace shardwright::embedding {

// Each set of prices relaxes all ranks to one sum: what the shards cost at the prices may not
// exceed what the ranks can hold. Two sets come from linear programs: the relaxation of the whole
// model, and its memory alone. Thread safety: immutable. Refers to the model.
class WholePrices {
 public:
  static constexpr std::size_t kSets = 6;
  static constexpr double kRounding = 1e-12;  // relative, of sums over all ranks
  using Priced = std::array<double, kSets>;
  static void take_least(Priced& least, const Priced& other) {
    for (std::size_t set = 0; set < kSets; ++set)
      least[set] = std::min(least[set], other[set]);
  }
  static void add(Priced& sum, double factor, const Priced& other) {
    for (std::size_t set = 0; set < kSets; ++set)
      sum[set] += factor * other[set];
  }

  explicit WholePrices(const WholeModel& model);

  // What one shard of the piece costs on the rank.
  const Priced& of(std::uint32_t piece, Rank rank) const {
    return costs_[piece * model_->num_ranks() + rank];
  }
  // The sets that linear programs gave, for a certificate.
  std::vector<BoundNode> as_leaves() const;
  // What this much load (as the rating counts it) and memory of the rank is worth.
  Priced worth(Rank rank, double load, const PerTier<double>& bytes) const {
    Priced sum;
    for (std::size_t set = 0; set < kSets; ++set) {
      const CapacityMultipliers& own = prices_[set * model_->num_ranks() + rank];
      sum[set] = add_priced(own.load * load, own, bytes);
    }
    return sum;
  }

 private:
  void set_uniform(std::size_t set, const CapacityMultipliers& prices);
  void solve_relaxation(std::size_t set, bool memory_only);
  void find_costs();

  const WholeModel* model_;
  std::vector<CapacityMultipliers> prices_;  // by set and rank
  std::vector<Priced> costs_;                // by piece and rank
};

}  // namespace shardwright::embedding
