// Leaves with multipliers: all tables need more than all ranks have.
#include "core/embedding/bound/leaf_check.h"
#include "core/embedding/bound/node/lagrangian_sum.h"

namespace shardwright::embedding {

std::optional<std::string> check_lagrangian_leaf(const OpenOptions& options,
                                                 const BoundNode& leaf) {
  if (LagrangianSum(options, leaf.multipliers).excludes_all()) return std::nullopt;
  return "the multipliers of a leaf do not exclude a plan below the bound";
}

}  // namespace shardwright::embedding
