#include "search/embedding/compat/partitioners/partitioner.h"

#include "search/embedding/compat/partitioners/greedy_perf_partitioner.h"
#include "search/embedding/compat/partitioners/memory_balanced_partitioner.h"

namespace shardwright::embedding {

std::unique_ptr<Partitioner> make_partitioner(const PartitionerSpec& spec) {
  switch (spec.type) {
    case PartitionerSpec::Type::kGreedy:
      return std::make_unique<GreedyPerfPartitioner>(spec.sort_by);
    case PartitionerSpec::Type::kMemoryBalanced:
      return std::make_unique<MemoryBalancedPartitioner>(spec);
  }
  return nullptr;
}

}  // namespace shardwright::embedding
