// What a sweep says about which machine to take: speed, price, the smallest and the best ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/sweep.h"

namespace shardwright {

// Samples per second of all ranks if a step takes the time that the plan's rating says; absent if
// nothing fits or ratings are bytes.
std::optional<double> samples_per_second(const embedding::ProblemSpec& problem,
                                         const SweepPoint& point);

// What a billion samples cost at this speed; absent without a price or a speed.
std::optional<double> price_per_billion(const embedding::ProblemSpec& problem,
                                        const SweepPoint& point);

// Of every point, whether it is on the Pareto front: no other point is at least as good in samples
// per second and price (without prices: ranks and memory) and better in one of these. O(points^2).
std::vector<bool> pareto_front(const embedding::ProblemSpec& problem, const Sweep& sweep);

// The first clause of the reason why a point does not fit; empty if it fits.
std::string why_not(const SweepPoint& point);

// The smallest number of ranks that fits for one memory and batch size.
struct SmallestMachine {
  std::optional<std::int64_t> hbm_bytes;
  std::int64_t batch_size = 0;
  std::optional<std::int64_t> ranks;  // absent if none fits
};
// In the order of the points.
std::vector<SmallestMachine> smallest_machines(const Sweep& sweep);

// Indices of the best-rated points, one for every number of ranks and batch size that fits at all,
// in the order of the points.
std::vector<std::size_t> best_by_ranks(const Sweep& sweep);

// Encodes the points of one size of machine, without plans, or the error of `status`.
std::string to_message(const Status& status, const Sweep& points);

// Adds the points of a message. Returns the error if the message has one.
Status add_points(const std::string& message, Sweep& sweep);

}  // namespace shardwright
