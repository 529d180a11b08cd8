// Measured corrections: factors on estimated times and memory, per kernel and per rank.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/embedding/kinds/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/status.h"

namespace shardwright::embedding {

// A factor measured for shards of `dim` columns.
struct FactorAtDim {
  std::int64_t dim = 0;
  double factor = 1;
};

// A factor as a function of a shard's columns: linear between the points, constant outside them.
// Points ascend by `dim`. Without points, the factor is 1.
struct FactorByDim {
  std::vector<FactorAtDim> points;

  double at(std::int64_t columns) const;
};

struct KernelCalibration {
  ComputeKernel kernel = ComputeKernel::kFused;
  FactorByDim time;   // multiplies fwd_compute, bwd_compute and prefetch_compute
  FactorByDim comms;  // multiplies fwd_comms and bwd_comms
  double memory = 1;  // multiplies both memory tiers; the result is rounded up to whole bytes
};

// Thread safety: a value.
struct Calibration {
  std::vector<KernelCalibration> kernels;  // each kernel at most once
  std::vector<double> rank_time;           // per rank: multiplies all times there; empty = all 1

  const KernelCalibration* find(ComputeKernel kernel) const;
};

// Returns `perf`, the estimate for a shard with `columns` columns, times the measured factors.
Perf calibrated(const Perf& perf, const KernelCalibration& kernel, std::int64_t columns);

// Errors: kInvalidInput with the place in the problem file if a factor is not above 0 and at most
// 1e6, dims do not ascend, a kernel occurs twice, or there is not one factor per rank.
Status check(const Calibration& calibration, std::uint32_t world_size);

}  // namespace shardwright::embedding
