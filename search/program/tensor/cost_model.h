// What moving a tensor costs, in microseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/dist_attr.h"
#include "core/program/reshard_plan.h"

namespace shardwright::program {

// The machines that ranks run on: rank r on machine r / ranks_per_machine.
// Source of the latencies: Paddle's static cost model (ring and tree collectives, NVLink).
// Thread safety: a value.
struct Cluster {
  std::int64_t ranks_per_machine = 8;
  double intra_us_per_byte = 1.0 / 235e3;
  double inter_us_per_byte = 1.0 / 24.4e3;
  double base_ring_us = 8.4;
  double intra_ring_us = 3.4;
  double inter_ring_us = 9.6;
  double tree_us = 28;
  double switch_us = 10;
  double switch_hops = 1;
  double local_bytes_per_us = 144000;

  std::int64_t machine_of(Rank rank) const { return rank / ranks_per_machine; }
};

// Ranks that communicate, as far as costs go.
struct GroupShape {
  std::int64_t ranks = 1;
  std::int64_t machines = 1;
};
GroupShape group_shape(const Cluster& cluster, const std::vector<Rank>& group);

// `bytes` is what one member holds: after an all-gather, before the others.
double all_gather_us(const Cluster& cluster, GroupShape group, double bytes);
double all_reduce_us(const Cluster& cluster, GroupShape group, double bytes);
// Reduce-scatter and all-to-all: each member keeps one n-th of what it holds and moves the rest.
double exchange_us(const Cluster& cluster, GroupShape group, double bytes);
double send_us(const Cluster& cluster, bool same_machine, double bytes);
// Packing or cutting `bytes` on the spot.
double local_us(const Cluster& cluster, double bytes);

// Booleans travel as 64-bit integers.
std::int64_t travelling_bytes(DataType type);

// The time of the slowest rank: every rank does its steps one after the other. O(steps * group).
double plan_us(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
               const ReshardPlan& plan);

}  // namespace shardwright::program
