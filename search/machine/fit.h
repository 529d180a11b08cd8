// Fits the measured costs of a machine: a sum of physical terms for each kernel, latency and
// bandwidth for each collective.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/problem/machine_model.h"
#include "core/status.h"

namespace shardwright::machine {

// One measured call. `spread` is that of repetitions, relative.
struct LookupMeasurement {
  embedding::LookupKind kind;
  embedding::LookupCall call;
  std::optional<double> hit_rate;  // as measured; absent without a cache
  double forward_us = 0;
  std::optional<double> backward_us;  // with the optimizer's update
  double spread = 0;
};

struct CollectiveMeasurement {
  embedding::Collective operation = embedding::Collective::kAllToAll;
  embedding::LinkScope scope = embedding::LinkScope::kIntraHost;
  std::int64_t ranks = 0;
  double bytes = 0;
  double us = 0;
  double spread = 0;
};

// Returns x >= 0 that makes the weighted sum of squares of (rows x - 1) least. A row has `width`
// entries; `rows` is in order of rows, and has a weight for each. Source: Lawson and Hanson,
// Solving Least Squares Problems, chapter 23, on the normal equations with columns of length 1.
// O(rows width^2 + width^4) time.
std::vector<double> fit_nonnegative(std::span<const double> rows, std::span<const double> weights,
                                    std::size_t width);

// Fits one model for each kind of kernel, in the order in which they occur. Coefficients make the
// sum of relative errors small: squares are weighted by the inverse of the last round's errors.
// Kinds of fewer than kLeastShapes shapes get no model. Errors of shapes come from fits without the
// fold that has them; all measurements of a shape are in one fold. The same measurements give the
// same fit. Errors: kInvalidInput at "/<index>" for a size or time that is not above 0, and for
// more than kMostMeasurements.
Result<std::vector<embedding::LookupModel>> fit_lookups(
    std::span<const LookupMeasurement> measurements, const embedding::DeviceMemory& memory);

// Fits one model for each operation, scope and number of ranks. The knee is one of the measured
// sizes. Collectives of fewer than kLeastSizes sizes get no model. Errors: as fit_lookups(), and
// kInvalidInput for more than kMostCollectives, or more than kMostSizes of one. O(sizes^3) time.
Result<std::vector<embedding::MeasuredCollective>> fit_collectives(
    std::span<const CollectiveMeasurement> measurements);

// A kind of kernel needs this many shapes, so that each of the folds has two.
inline constexpr std::size_t kFolds = 5;
inline constexpr std::size_t kLeastShapes = 2 * kFolds;
inline constexpr std::size_t kLeastSizes = 5;  // a latency, two rates and a knee, and one to check
// Far above what measuring gives; a fit hears no stop and ends within seconds.
inline constexpr std::size_t kMostMeasurements = 20'000;
inline constexpr std::size_t kMostCollectives = 1024;
inline constexpr std::size_t kMostSizes = 128;

}  // namespace shardwright::machine
