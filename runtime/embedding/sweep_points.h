// Figures for choosing a machine: speed, price, the smallest and the best machines.
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

// Returns the samples per second of all ranks if a step takes the time that the rating says;
// nullopt if no plan fits or the rating is in bytes.
std::optional<double> samples_per_second(const embedding::ProblemSpec& problem,
                                         const SweepPoint& point);

// Returns the price of a billion samples; nullopt without a price or a speed.
std::optional<double> price_per_billion(const embedding::ProblemSpec& problem,
                                        const SweepPoint& point);

// Returns for every point whether it is on the Pareto front: no other point is at least as good in
// samples per second and price and better in one of them. Without prices, ranks and memory take the
// place of the price. Cost: O(points^2).
std::vector<bool> pareto_front(const embedding::ProblemSpec& problem, const Sweep& sweep);

// Returns the first clause of the reason why no plan fits at this point; empty if one fits.
std::string why_not(const SweepPoint& point);

// The smallest number of ranks that fits for one memory size and batch size.
struct SmallestMachine {
  std::optional<std::int64_t> hbm_bytes;
  std::int64_t batch_size = 0;
  std::optional<std::int64_t> ranks;  // absent if none fits
};
// In the order of the points.
std::vector<SmallestMachine> smallest_machines(const Sweep& sweep);

// Returns the indices of the best-rated points, in ascending order: one for every pair of rank
// count and batch size for which a point fits.
std::vector<std::size_t> best_by_ranks(const Sweep& sweep);

// The answer of `sweep` as a value.
struct SweepAnswer {
  struct Failure {  // from a PlanFailure, or from an Error ("invalid_input")
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
    std::optional<std::vector<std::int64_t>> peak_bytes;  // HBM, DDR and, if counted, SSD
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

  std::optional<std::string> name;      // of the problem
  std::optional<std::string> estimate;  // which cost model and machine the ratings are for
  std::vector<Point> points;
  std::vector<SmallestMachine> smallest;
  std::vector<Best> best_by_ranks;
  int threads = 1;
  double total_s = 0;
  // Members that a saved answer does not have:
  std::optional<std::size_t> num_tables;
  bool is_by_storage = false;  // for sweeps in which nothing fits; see rates_bytes()

  bool rates_bytes() const;  // false if ratings are in ms
  bool any_fits() const;
};

SweepAnswer sweep_answer(const embedding::ProblemSpec& problem, const Sweep& sweep);

// Encodes the points of one machine size without plans, or the error of `status`.
std::string to_message(const Status& status, const Sweep& points);

// Adds the points of a message to `sweep`. Errors: the error that the message holds.
Status add_points(const std::string& message, Sweep& sweep);

}  // namespace shardwright
