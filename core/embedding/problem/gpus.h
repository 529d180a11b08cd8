// Accelerators by name: memory and links of one rank, in the terms of TorchRec's cost model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/embedding/problem/topology.h"

namespace shardwright::embedding {

// The data sheet of an accelerator in the server that it is usually sold in. Sizes are bytes,
// bandwidths bytes per second of one rank.
struct Gpu {
  std::string_view name;
  std::int64_t hbm_bytes;
  double hbm_mem_bw;
  // Both directions together, as in TorchRec's default of 600 for the A100.
  double intra_host_bw;
  double inter_host_bw;      // of the network card of one rank, in one direction
  double hbm_to_ddr_mem_bw;  // over PCIe, in one direction
  std::int64_t ranks_per_host;
  std::string_view source;
};

// Returns all known accelerators: NVIDIA's, then AMD's, each roughly from old to new.
std::span<const Gpu> gpus();
// Returns the names of gpus(), in the same order.
std::span<const std::string_view> gpu_names();

// Sets memory, bandwidths, device and name of `topology` to those of gpus()[index]. Other members
// stay; a list of sizes by rank is removed.
void use_gpu(std::size_t index, TopologySpec& topology);

// Returns the accelerator that use_gpu() set; null if there is none.
const Gpu* find_gpu(const TopologySpec& topology);

// Returns what an estimate for this topology is made for: "h100 x 32", "h100 x 32 with other
// bandwidths", or "32 ranks with TorchRec's default bandwidths". `with_ranks`: names the number of
// ranks.
std::string machine_text(const TopologySpec& topology, bool with_ranks = true);

}  // namespace shardwright::embedding
