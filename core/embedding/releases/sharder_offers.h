// What TorchRec's sharders offer in the oldest known release.
#pragma once

#include "core/embedding/releases/release_rules.h"

namespace shardwright::embedding {

// Source: sharding_types of BaseEmbeddingSharder and BaseQuantEmbeddingSharder
// (embedding_types.py), EmbeddingCollectionSharder (embedding.py),
// FeatureProcessedEmbeddingBagCollectionSharder (fp_embeddingbag.py) and EmbeddingTowerSharder
// (embedding_tower_sharding.py), torchrec/distributed.
ShardingTypes base_sharding_types(SharderKind sharder, ComputeDevice device);

// Source: compute_kernels of BaseEmbeddingSharder and BaseQuantEmbeddingSharder,
// torchrec/distributed/embedding_types.py.
ComputeKernels base_compute_kernels(SharderKind sharder, ShardingType type, ComputeDevice device);

// Source: _filter_sharding_types and GUARDED_COMPUTE_KERNELS,
// torchrec/distributed/planner/enumerators.py.
bool base_guards_type(SharderKind sharder, ShardingType type);
bool base_guards_kernel(ComputeKernel kernel);

}  // namespace shardwright::embedding
