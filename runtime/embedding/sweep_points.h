// What a sweep says about which machine to take: speed, price, the smallest and the best ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "core/stop_reason.h"
#include "runtime/embedding/amount.h"
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

// What `sweep` answers, as a value.
struct SweepAnswer {
  struct Failure {  // a PlanFailure, or an Error of type "invalid_input"
    std::string type;
    std::string message;
    std::optional<std::string> reason;
    std::optional<std::string> where;
  };
  struct Point {
    std::int64_t ranks = 0;
    std::int64_t ranks_per_host = 0;
    std::optional<std::int64_t> hbm_bytes;
    std::int64_t batch_size = 0;
    std::optional<std::int64_t> sharding_group_size;
    std::optional<std::int64_t> pod_size;
    std::optional<Amount> rating;
    std::optional<double> lower_bound;
    std::optional<double> gap;
    std::optional<bool> proven_optimal;
    std::optional<std::vector<std::int64_t>> peak_bytes;  // HBM, DDR and, if it counts, SSD
    std::optional<std::string> why_not;
    std::optional<Failure> failure;
    std::optional<double> price_per_hour;
    std::optional<double> samples_per_second;
    std::optional<double> samples_per_second_per_rank;
    std::optional<double> price_per_billion;
    std::optional<bool> on_front;
    StopReason stopped_by = StopReason::kFinished;

    bool fits() const { return rating.has_value(); }
  };
  struct Best {  // of all points with these ranks and this batch size
    std::int64_t ranks = 0;
    std::int64_t batch_size = 0;
    std::optional<std::int64_t> hbm_bytes;
    Amount rating;
  };

  std::optional<std::string> name;  // of the problem
  std::vector<Point> points;
  std::vector<SmallestMachine> smallest;
  std::vector<Best> best_by_ranks;
  int threads = 1;
  double total_s = 0;
  // What a saved answer does not tell:
  std::optional<std::size_t> num_tables;
  bool is_by_storage = false;  // it does if a machine fits: see rates_bytes()

  bool rates_bytes() const;  // otherwise ms
  bool any_fits() const;
};

SweepAnswer sweep_answer(const embedding::ProblemSpec& problem, const Sweep& sweep);

// Encodes the points of one size of machine, without plans, or the error of `status`.
std::string to_message(const Status& status, const Sweep& points);

// Adds the points of a message. Returns the error if the message has one.
Status add_points(const std::string& message, Sweep& sweep);

}  // namespace shardwright
