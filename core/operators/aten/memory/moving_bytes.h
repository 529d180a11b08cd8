// What a device holds while a tensor moves from one placement to another.
#pragma once

#include <cstdint>

#include "core/operators/aten/graph/aten_tensor.h"

namespace shardwright::operators {

// Who runs the collectives. They hold different buffers.
enum class CollectiveBackend : std::uint8_t { kNccl, kGloo };

// The most bytes at once beside the tensor that is moved, its moved copy included; 0 if nothing
// moves. Every axis is a step with a buffer of its own for what it makes; steps that make the
// tensor smaller come first, those that gather it last. Gathering along another dimension than the
// first copies what was gathered, and reducing and scattering along one copies what is reduced.
// With gloo, an all-to-all gathers and cuts; with NCCL it receives as much as it sends, copies what
// it sends if it cuts another dimension than the first, and what it received if it gathers one.
// Source: torch 2.13, torch/distributed/_functional_collectives.py (all_gather_single,
// reduce_scatter_single), torch/distributed/tensor/_collective_utils.py and
// torch/csrc/distributed/c10d/Functional.cpp (shard_dim_alltoall).
// O(axes^2).
std::int64_t moving_bytes(const AtenTensor& tensor, const redistribution::MeshShape& mesh,
                          const redistribution::Placement& source,
                          const redistribution::Placement& target, CollectiveBackend backend);

}  // namespace shardwright::operators
