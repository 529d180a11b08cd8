// What a user measured: factors on estimated times and memory, by kernel and by rank.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/status.h"

namespace shardwright::embedding {

// A factor measured for shards of `dim` columns.
struct FactorAtDim {
  std::int64_t dim = 0;
  double factor = 1;
};

// Factors by the columns of a shard, in ascending order: linear between two, constant beyond the
// ends; none = 1 everywhere.
struct FactorByDim {
  std::vector<FactorAtDim> points;

  double at(std::int64_t columns) const;
};

struct KernelCalibration {
  ComputeKernel kernel = ComputeKernel::kFused;
  FactorByDim time;   // of fwd_compute, bwd_compute and prefetch_compute
  FactorByDim comms;  // of fwd_comms and bwd_comms
  double memory = 1;  // of both tiers, rounded up to whole bytes
};

// Thread safety: a value.
struct Calibration {
  std::vector<KernelCalibration> kernels;  // each kernel at most once
  std::vector<double> rank_time;           // by rank, of the time of all its shards; empty = 1

  const KernelCalibration* find(ComputeKernel kernel) const;
};

// The time of a shard of so many columns under the measured factors.
Perf calibrated(const Perf& perf, const KernelCalibration& kernel, std::int64_t columns);

// Errors: kInvalidInput with the place in the problem file, where a factor is not above 0 and at
// most 1e6, dims do not ascend, a kernel comes twice, or the factors of ranks are not one per rank.
Status check(const Calibration& calibration, std::uint32_t world_size);

}  // namespace shardwright::embedding
