// What all tables need at least at given multipliers, and what all ranks have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/bound/node/open_options.h"
#include "core/embedding/bound/pricing/capacity_multipliers.h"

namespace shardwright::embedding {

// Every sum is rounded to the safe side.
// Thread safety: immutable.
class LagrangianSum {
 public:
  // `multipliers`: by rank class. O(open options x classes).
  LagrangianSum(const OpenOptions& options, const std::vector<CapacityMultipliers>& multipliers);

  // Returns true if all tables, each with its cheapest open option, need more than all ranks have.
  bool excludes_all() const { return needed_ > capacity_; }
  // Returns true if they do when this table takes its n-th open option.
  bool excludes(std::size_t table, std::size_t option) const;

 private:
  std::vector<double> costs_;       // of all open options
  std::vector<std::size_t> first_;  // of those, by table
  std::vector<double> least_;       // by table
  double needed_ = 0;
  double capacity_ = 0;
};

}  // namespace shardwright::embedding
