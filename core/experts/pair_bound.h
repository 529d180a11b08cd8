// A lower bound for GPUs of two slots: large replicas need small partners.
#pragma once

#include <cstddef>

#include "core/experts/bound.h"

namespace shardwright::experts {

// Returns true if this proves that no placement has all times at most `time`. If all pairs of
// replicas stay within T, then for every t >= T / 2 there are at most as many replicas above t as
// replicas of at most T - t. Each t of a grid has a price u, a slot has the price 1. The sum over
// experts of the least cost of any number of replicas is then at most the price of all slots:
//   sum over e of min over c of c * (1 + sum over t of u(t) * [w/c > t] - u(t) * [w/c <= T - t]) <=
//   S.
// Looks for prices that refute this: a single price, and subgradient steps of Polyak's length, from
// no prices and from the best single one. Returns false if stopped. Preconditions: two slots per
// GPU, equal speeds. O(iterations * experts).
bool pairs_refute(const Pool& pool, double time, std::size_t iterations,
                  const IsStopped& is_stopped = {});

// Returns true if this proves that no placement has all times at most `time`: all numbers of
// replicas that keep every share low enough are tried, each with its best pairs (the largest
// replica with the smallest, and so on). Returns false if there are more than `most` ways, or if
// stopped. Preconditions: as above. O(most * slots).
bool counts_refute(const Pool& pool, double time, std::size_t most,
                   const IsStopped& is_stopped = {});

// Returns the largest refuted time that bisection between `low`, a lower bound, and `high` finds,
// or `low`.
double pairs_bound(const Pool& pool, double low, double high, std::size_t iterations,
                   const IsStopped& is_stopped = {});

// Iterations that check_plan() makes; a plan must need no more.
inline constexpr std::size_t kMostPairIterations = 1000;
// Ways that check_plan() tries in counts_refute().
inline constexpr std::size_t kMostCounts = 60'000;

}  // namespace shardwright::experts
