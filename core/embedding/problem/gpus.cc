#include "core/embedding/problem/gpus.h"

#include <array>
#include <cstddef>
#include <utility>

#include "core/embedding/problem/machine_model.h"
#include "core/units.h"

namespace shardwright::embedding {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMsPerSecond = 1e3;

// In the order of GpuModel.
constexpr std::array<Gpu, EnumNames<GpuModel>::kNames.size()> kGpus{{
    {32 * kGibibyte, 900 * kGiga, 300 * kGiga, 12.5 * kGiga, 16 * kGiga, 8,
     "NVIDIA V100 SXM2 32GB data sheet; one 100 Gb/s network card per GPU"},
    {40 * kGibibyte, 1555 * kGiga, 600 * kGiga, 25 * kGiga, 32 * kGiga, 8,
     "NVIDIA A100 40GB SXM data sheet; DGX A100: 200 Gb/s per GPU"},
    {80 * kGibibyte, 2039 * kGiga, 600 * kGiga, 25 * kGiga, 32 * kGiga, 8,
     "NVIDIA A100 80GB SXM data sheet; DGX A100: 200 Gb/s per GPU"},
    {22 * kGibibyte, 600 * kGiga, 64 * kGiga, 1.5625 * kGiga, 32 * kGiga, 8,
     "NVIDIA A10G data sheet, PCIe 4; AWS g5.48xlarge: 100 Gb/s per host"},
    {22 * kGibibyte, 300 * kGiga, 64 * kGiga, 1.5625 * kGiga, 32 * kGiga, 8,
     "NVIDIA L4 data sheet, PCIe 4; AWS g6.48xlarge: 100 Gb/s per host"},
    {44 * kGibibyte, 864 * kGiga, 64 * kGiga, 6.25 * kGiga, 32 * kGiga, 8,
     "NVIDIA L40S data sheet, PCIe 4; AWS g6e.48xlarge: 400 Gb/s per host"},
    {80 * kGibibyte, 3350 * kGiga, 900 * kGiga, 50 * kGiga, 64 * kGiga, 8,
     "NVIDIA H100 SXM data sheet; DGX H100: 400 Gb/s per GPU"},
    {140 * kGibibyte, 4800 * kGiga, 900 * kGiga, 50 * kGiga, 64 * kGiga, 8,
     "NVIDIA H200 SXM data sheet; DGX H200: 400 Gb/s per GPU"},
    {179 * kGibibyte, 8000 * kGiga, 1800 * kGiga, 50 * kGiga, 64 * kGiga, 8,
     "NVIDIA DGX B200 data sheet: 400 Gb/s per GPU"},
    {268 * kGibibyte, 8000 * kGiga, 1800 * kGiga, 100 * kGiga, 64 * kGiga, 8,
     "NVIDIA DGX B300 data sheet: 800 Gb/s per GPU"},
    {192 * kGibibyte, 5300 * kGiga, 896 * kGiga, 50 * kGiga, 64 * kGiga, 8,
     "AMD Instinct MI300X data sheet, 7 links of 128 GB/s; 400 Gb/s per GPU"},
    {256 * kGibibyte, 6000 * kGiga, 896 * kGiga, 50 * kGiga, 64 * kGiga, 8,
     "AMD Instinct MI325X data sheet, 7 links of 128 GB/s; 400 Gb/s per GPU"},
    {288 * kGibibyte, 8000 * kGiga, 1075 * kGiga, 50 * kGiga, 64 * kGiga, 8,
     "AMD Instinct MI355X data sheet, 7 links of 153.6 GB/s; 400 Gb/s per GPU"},
}};

bool has_bandwidths_of(const TopologySpec& topology, const TopologySpec& other) {
  return topology.intra_host_bw == other.intra_host_bw &&
         topology.inter_host_bw == other.inter_host_bw && topology.hbm_mem_bw == other.hbm_mem_bw &&
         topology.ddr_mem_bw == other.ddr_mem_bw &&
         topology.hbm_to_ddr_mem_bw == other.hbm_to_ddr_mem_bw;
}

}  // namespace

const Gpu& gpu_of(GpuModel model) { return kGpus[static_cast<std::size_t>(model)]; }

void use_gpu(GpuModel model, TopologySpec& topology) {
  const Gpu& gpu = gpu_of(model);
  topology.gpu = model;
  topology.compute_device = ComputeDevice::kCuda;
  topology.hbm_cap_bytes = gpu.hbm_bytes;
  topology.custom_hbm_cap_bytes.clear();
  topology.hbm_mem_bw = gpu.hbm_mem_bw / kMsPerSecond;
  topology.intra_host_bw = gpu.intra_host_bw / kMsPerSecond;
  topology.inter_host_bw = gpu.inter_host_bw / kMsPerSecond;
  topology.hbm_to_ddr_mem_bw = gpu.hbm_to_ddr_mem_bw / kMsPerSecond;
}

void use_machine(std::shared_ptr<const MachineModel> machine, TopologySpec& topology) {
  const MachineSpec& spec = machine->spec();
  topology.compute_device = spec.device;
  const MemoryTier tier = spec.device == ComputeDevice::kCpu ? MemoryTier::kDdr : MemoryTier::kHbm;
  topology.set_cap_bytes(tier, spec.memory_bytes);
  topology.custom_cap_bytes(tier).clear();
  topology.machine = std::move(machine);
}

std::string machine_text(const TopologySpec& topology, bool with_ranks) {
  TopologySpec named;
  if (topology.gpu) use_gpu(*topology.gpu, named);
  const bool is_as_named = has_bandwidths_of(topology, named);
  const std::string count = std::to_string(topology.world_size);
  if (topology.machine)
    return topology.machine->spec().name + (with_ranks ? " x " + count : "") + " as measured";
  if (topology.gpu)
    return std::string(to_name(*topology.gpu)) + (with_ranks ? " x " + count : "") +
           (is_as_named ? "" : " with other bandwidths");
  const std::string ranks = count + (topology.world_size == 1 ? " rank" : " ranks");
  return (with_ranks ? ranks + " with " : "") +
         (is_as_named ? "TorchRec's default bandwidths" : "the given bandwidths");
}

}  // namespace shardwright::embedding
