// Accelerators by name: memory and links of one rank, in the terms of TorchRec's cost model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/embedding/problem/topology.h"

namespace shardwright::embedding {

// The data sheet of an accelerator in the server that it is usually sold in. Sizes are bytes,
// bandwidths bytes per second of one rank.
struct Gpu {
  std::int64_t hbm_bytes;
  double hbm_mem_bw;
  // Both directions together, as in TorchRec's default of 600 for the A100.
  double intra_host_bw;
  double inter_host_bw;      // of the network card of one rank, in one direction
  double hbm_to_ddr_mem_bw;  // over PCIe, in one direction
  std::int64_t ranks_per_host;
  std::string_view source;
};

const Gpu& gpu_of(GpuModel model);

// Sets model, device, memory and bandwidths of `topology` to those of the accelerator. Other
// members stay; a list of sizes by rank is removed.
void use_gpu(GpuModel model, TopologySpec& topology);

// Sets measured costs, device and memory of `topology`; a list of sizes by rank is removed.
void use_machine(std::shared_ptr<const MachineModel> machine, TopologySpec& topology);

// Returns what an estimate for this topology is made for: "h100 x 32", "h100 x 32 with other
// bandwidths", "my_node x 32 as measured", or "32 ranks with TorchRec's default bandwidths".
// `with_ranks`: names the number of ranks.
std::string machine_text(const TopologySpec& topology, bool with_ranks = true);

}  // namespace shardwright::embedding
