// Calibration (measured factors on estimated times and memory), and limits on the memory of plans.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"

namespace shardwright::embedding {

// A factor measured for shards of `dim` columns.
struct FactorAtDim {
  std::int64_t dim = 0;
  double factor = 1;
};

// A factor as a function of the columns of a shard: linear between the points, constant outside
// them. Points ascend by `dim`. Without points, the factor is 1.
struct FactorByDim {
  std::vector<FactorAtDim> points;

  double at(std::int64_t columns) const;
};

struct KernelCalibration {
  ComputeKernel kernel = ComputeKernel::kFused;
  FactorByDim time;   // multiplies fwd_compute, bwd_compute and prefetch_compute
  FactorByDim comms;  // multiplies fwd_comms and bwd_comms
  double memory = 1;  // multiplies every memory tier; the result is rounded up to whole bytes
};

// Thread safety: a value.
struct Calibration {
  std::vector<KernelCalibration> kernels;  // each kernel at most once
  std::vector<double> rank_time;           // by rank: multiplies all times; empty = all 1

  const KernelCalibration* find(ComputeKernel kernel) const;
};

// Returns `perf`, an estimate for a shard of `columns` columns, times the measured factors.
Perf calibrated(const Perf& perf, const KernelCalibration& kernel, std::int64_t columns);

// Errors: kInvalidInput with the place in the problem file if a factor is not above 0 and at most
// 1e6, dims do not ascend, a kernel occurs twice, or there is not one factor per rank.
Status check(const Calibration& calibration, std::uint32_t world_size);

// Memory that must stay free in one tier of every rank, in bytes or as a fraction of the memory
// that remains after the reservation. One of the two members is 0.
struct MemoryMargin {
  std::int64_t bytes = 0;
  double fraction = 0;

  friend bool operator==(const MemoryMargin&, const MemoryMargin&) = default;
};

// Sizes are in bytes. A list has one size for all ranks or one size per rank; empty means 0.
struct MemoryLimits {
  PerTier<std::vector<std::int64_t>> reserved_bytes;
  PerTier<MemoryMargin> margins;

  bool any_reserved() const;
  bool any_margin() const { return margins != PerTier<MemoryMargin>(); }
  Storage reserved(std::uint32_t rank) const;
  // Returns the part of `left` that must stay free: at most all of `left`, and 0 if `left` is not
  // positive. Rounds a fraction up to whole bytes.
  Storage margin(Storage left) const;
};

// Errors: kInvalidInput with the place in the problem file if more memory is reserved than a rank
// has, the number of sizes is wrong, or a margin is out of range.
Status check(const MemoryLimits& limits, const Topology& topology);

}  // namespace shardwright::embedding
