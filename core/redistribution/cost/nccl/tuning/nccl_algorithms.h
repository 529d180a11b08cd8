// The time of NCCL's algorithms and protocols, as NCCL's tuning estimates it.
#pragma once

#include <cstdint>

#include "core/redistribution/cost/nccl/tuning/nccl_config.h"
#include "core/redistribution/cost/nccl/tuning/nccl_tables.h"

namespace shardwright::redistribution::nccl {

// The ranks of one communicator and the machines that they are on.
// Thread safety: a value.
struct Group {
  static Group make(const NcclConfig& config, const NcclAxis& axis);

  // Whether it has switches that reduce and multicast, which NVLS uses.
  bool has_nvls() const {
    return config.has_nvswitch && config.architecture != GpuArchitecture::kAmpere;
  }

  NcclConfig config;
  NcclAxis axis;
  SizeTable ring_ramp;  // the share of a ring's bandwidth that is had by size per GPU
};

struct Method {
  Algorithm algorithm;
  Protocol protocol;
};

// The collectives below are those that NCCL tunes: all but an all-to-all.

// GB/s of the whole collective for large messages; 0 if the method cannot do it.
double bandwidth_gb_per_s(const Group& group, Collective collective, Method method);
double latency_us(const Group& group, Collective collective, Method method);
// The latency of `steps` steps in a ring of which `steps_between` are between nodes.
double ring_latency_us(const Group& group, Protocol protocol, std::int64_t steps,
                       std::int64_t steps_between);

// The time with all corrections for the size; infinite if the method cannot do it.
double method_us(const Group& group, Collective collective, Method method, std::int64_t bytes);
// The shortest time of all protocols of a ring.
double ring_us(const Group& group, Collective collective, std::int64_t bytes);
// The shortest time of all methods that NCCL considers for the group.
double tuned_us(const Group& group, Collective collective, std::int64_t bytes);

}  // namespace shardwright::redistribution::nccl
