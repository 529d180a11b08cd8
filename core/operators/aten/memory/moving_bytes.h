// What a device holds while a tensor moves from one placement to another.
#pragma once

#include <cstdint>

#include "core/operators/aten/graph/aten_tensor.h"

namespace shardwright::operators {

// The most bytes at once beside the tensor that is moved, its moved copy included; 0 if nothing
// moves. Every axis is a step with a buffer of its own for what it makes; steps that make the
// tensor smaller come first, those that gather it last. Gathering along another dimension than the
// first copies what was gathered, and reducing and scattering along one copies what is reduced. An
// all-to-all gathers and cuts, as with gloo; with NCCL it holds less.
// Source: torch 2.13, torch/distributed/_functional_collectives.py (all_gather_single,
// reduce_scatter_single) and torch/distributed/tensor/_collective_utils.py (shard_dim_alltoall).
// O(axes^2).
std::int64_t moving_bytes(const AtenTensor& tensor, const redistribution::MeshShape& mesh,
                          const redistribution::Placement& source,
                          const redistribution::Placement& target);

}  // namespace shardwright::operators
