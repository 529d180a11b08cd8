#include "core/redistribution/cost/nccl/tuning/size_tables.h"

#include <cmath>

namespace shardwright::redistribution::nccl {

double interpolated(const SizeTable& table, std::int64_t bytes) {
  const std::int64_t units = bytes >> 6;
  if (units <= 0) return table.front();
  const double position = std::log2(static_cast<double>(units));
  const std::size_t below = static_cast<std::size_t>(position);
  if (below + 1 >= table.size()) return table.back();
  const double fraction = position - static_cast<double>(below);
  return table[below] * (1 - fraction) + table[below + 1] * fraction;
}

double interpolated(std::span<const Point> points, std::int64_t x) {
  if (x <= points.front().x) return points.front().y;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point& low = points[i - 1];
    const Point& high = points[i];
    if (x > high.x) continue;
    const double fraction = static_cast<double>(x - low.x) / static_cast<double>(high.x - low.x);
    return low.y + fraction * (high.y - low.y);
  }
  return points.back().y;
}

}  // namespace shardwright::redistribution::nccl
