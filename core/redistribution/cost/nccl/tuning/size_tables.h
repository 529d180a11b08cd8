// Tables by the size of a message, and values between measured points.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "core/redistribution/cost/nccl/tuning/nccl_tables.h"

namespace shardwright::redistribution::nccl {

// A value measured at some number of ranks or nodes.
struct Point {
  int x;
  double y;
};

// The largest power of two that is not above `value`; 0 if `value` is 0.
inline int log2_floor(std::int64_t value) {
  if (value <= 0) return 0;
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

// The index of `bytes` in a SizeTable, which may be past its end. Tables begin at 64 bytes.
inline std::size_t size_index(std::int64_t bytes) {
  return static_cast<std::size_t>(log2_floor(bytes >> 6));
}

// Linear between the entries on both sides of `bytes`, by the logarithm. Below the table: its first
// entry; above: its last.
double interpolated(const SizeTable& table, std::int64_t bytes);

// Linear between the points, constant outside. Precondition: ascending x, at least one point.
double interpolated(std::span<const Point> points, std::int64_t x);

}  // namespace shardwright::redistribution::nccl
