#include "search/embedding/questions/explain/shortage/memory_shortage.h"

#include "search/embedding/questions/explain/shortage/shortage_proofs.h"

namespace shardwright::embedding {

std::optional<MemoryShortage> prove_memory_shortage(const SearchSpace& space,
                                                    const Topology& available,
                                                    const Budget& budget) {
  if (space.size() == 0) return std::nullopt;
  MemoryNeeds needs(space, available, budget);
  if (auto shortage = keep_fitting_options(needs)) return shortage;
  if (auto shortage = shortage_of_groups(needs)) return shortage;
  if (auto shortage = shortage_in_total(needs)) return shortage;
  return shortage_by_large_shards(needs);
}

}  // namespace shardwright::embedding
