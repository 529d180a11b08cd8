#include "search/machine/fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "search/random.h"

namespace shardwright::machine {
namespace {

using embedding::cost_terms;
using embedding::CostTerms;
using embedding::DeviceMemory;
using embedding::FitError;
using embedding::FittedTime;
using embedding::kNumForwardTerms;
using embedding::LookupModel;
using embedding::MeasuredCollective;
using embedding::MeasuredRange;

// The normal equations of a least squares problem with columns of length 1.
class NormalEquations {
 public:
  NormalEquations(std::span<const double> rows, std::span<const double> weights, std::size_t width)
      : width_(width), scale_(width), matrix_(width * width), right_(width) {
    for (std::size_t row = 0; row < weights.size(); ++row) {
      const double* const entry = &rows[row * width];
      for (std::size_t i = 0; i < width; ++i) {
        right_[i] += weights[row] * entry[i];
        for (std::size_t j = 0; j < width; ++j)
          matrix_[i * width + j] += weights[row] * entry[i] * entry[j];
      }
    }
    for (std::size_t i = 0; i < width; ++i) {
      const double length = std::sqrt(matrix_[i * width + i]);
      scale_[i] = length > 0 ? 1 / length : 0;
    }
    for (std::size_t i = 0; i < width; ++i) {
      right_[i] *= scale_[i];
      for (std::size_t j = 0; j < width; ++j)
        matrix_[i * width + j] *= scale_[i] * scale_[j];
    }
  }

  double scale(std::size_t i) const { return scale_[i]; }

  // Returns the negative gradient at `x`.
  std::vector<double> residual(const std::vector<double>& x) const {
    std::vector<double> rest = right_;
    for (std::size_t i = 0; i < width_; ++i) {
      for (std::size_t j = 0; j < width_; ++j)
        rest[i] -= matrix_[i * width_ + j] * x[j];
    }
    return rest;
  }

  // Returns the solution with all variables outside of `free` at 0, by Cholesky's decomposition.
  std::vector<double> solve(const std::vector<std::size_t>& free) const {
    constexpr double kRidge = 1e-12;  // keeps equal columns apart from a division by 0
    const std::size_t n = free.size();
    std::vector<double> lower(n * n), y(n), x(width_);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = matrix_[free[i] * width_ + free[j]] + (i == j ? kRidge : 0);
        for (std::size_t k = 0; k < j; ++k)
          sum -= lower[i * n + k] * lower[j * n + k];
        lower[i * n + j] = i == j ? std::sqrt(std::max(sum, kRidge)) : sum / lower[j * n + j];
      }
      double sum = right_[free[i]];
      for (std::size_t k = 0; k < i; ++k)
        sum -= lower[i * n + k] * y[k];
      y[i] = sum / lower[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
      double sum = y[i];
      for (std::size_t k = i + 1; k < n; ++k)
        sum -= lower[k * n + i] * x[free[k]];
      x[free[i]] = sum / lower[i * n + i];
    }
    return x;
  }

 private:
  std::size_t width_;
  std::vector<double> scale_;
  std::vector<double> matrix_;  // width x width
  std::vector<double> right_;
};

// Moves `x` towards `aim` until a variable reaches 0; takes the variables at 0 out of `free`.
void step_to_border(const std::vector<double>& aim, std::vector<double>& x,
                    std::vector<std::size_t>& free) {
  double step = 1;
  std::size_t first = x.size();
  for (const std::size_t i : free) {
    if (aim[i] > 0) continue;
    const double own = x[i] / (x[i] - aim[i]);
    if (first == x.size() || own < step) first = i;
    step = std::min(step, own);
  }
  std::vector<std::size_t> left;
  for (const std::size_t i : free) {
    x[i] = i == first ? 0 : std::max(0.0, x[i] + step * (aim[i] - x[i]));
    if (x[i] > 0) left.push_back(i);
  }
  free = std::move(left);
}

}  // namespace

std::vector<double> fit_nonnegative(std::span<const double> rows, std::span<const double> weights,
                                    std::size_t width) {
  constexpr double kTolerance = 1e-10;
  const NormalEquations equations(rows, weights, width);
  std::vector<double> x(width);
  std::vector<std::size_t> free;
  // Every round lowers the sum of squares, so no set of free variables occurs twice; the limit
  // guards against rounding.
  for (std::size_t round = 0; round < 10 * width; ++round) {
    const std::vector<double> gain = equations.residual(x);
    std::size_t best = width;
    for (std::size_t i = 0; i < width; ++i) {
      if (std::find(free.begin(), free.end(), i) != free.end()) continue;
      if (gain[i] > (best == width ? kTolerance : gain[best])) best = i;
    }
    if (best == width) break;
    free.push_back(best);
    for (;;) {
      std::vector<double> aim = equations.solve(free);
      const bool is_inside =
          std::all_of(free.begin(), free.end(), [&](std::size_t i) { return aim[i] > 0; });
      if (is_inside) {
        x = std::move(aim);
        break;
      }
      step_to_border(aim, x, free);
      if (free.empty()) break;
    }
  }
  for (std::size_t i = 0; i < width; ++i)
    x[i] *= equations.scale(i);
  return x;
}

namespace {

// Rows of terms over times: a prediction is exact if the row times the coefficients is 1.
struct RelativeRows {
  std::size_t width = 0;
  std::vector<double> entries;
  std::vector<std::size_t> fold;  // of each row

  std::span<const double> row(std::size_t i) const {
    return std::span(entries).subspan(i * width, width);
  }
  void add(std::span<const double> terms, double time, std::size_t of_fold) {
    width = terms.size();
    for (const double term : terms)
      entries.push_back(term / time);
    fold.push_back(of_fold);
  }
  RelativeRows without(std::size_t left_out) const {
    RelativeRows others;
    for (std::size_t i = 0; i < fold.size(); ++i) {
      if (fold[i] != left_out) others.add(row(i), 1, fold[i]);
    }
    return others;
  }
};

double error_of(std::span<const double> row, const std::vector<double>& coefficients) {
  return std::abs(std::inner_product(row.begin(), row.end(), coefficients.begin(), 0.0) - 1);
}

FitError distribution(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double share) {
    const double position = std::round(share * static_cast<double>(errors.size() - 1));
    return errors[static_cast<std::size_t>(position)];
  };
  return {at(0.5), at(0.9)};
}

// Returns the errors of all rows under fits without their folds. `fit` makes coefficients of rows.
template <class Fit>
FitError cross_validated(const RelativeRows& rows, const Fit& fit) {
  std::vector<double> errors;
  const std::size_t folds =
      rows.fold.empty() ? 0 : *std::max_element(rows.fold.begin(), rows.fold.end()) + 1;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    const std::vector<double> coefficients = fit(rows.without(fold));
    for (std::size_t i = 0; i < rows.fold.size(); ++i) {
      if (rows.fold[i] == fold) errors.push_back(error_of(rows.row(i), coefficients));
    }
  }
  return distribution(std::move(errors));
}

// Makes the sum of errors small instead of that of squares, which a few noisy rows would decide.
std::vector<double> fit_rows(const RelativeRows& rows) {
  constexpr int kRounds = 15;
  constexpr double kLeastError = 0.03;  // about the noise of a measurement
  std::vector<double> weights(rows.fold.size(), 1);
  std::vector<double> fit;
  for (int round = 0; round < kRounds; ++round) {
    fit = fit_nonnegative(rows.entries, weights, rows.width);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = 1 / std::max(error_of(rows.row(i), fit), kLeastError);
  }
  return fit;
}

FittedTime fitted(const RelativeRows& rows) {
  FittedTime time;
  const std::vector<double> ns = fit_rows(rows);
  std::copy(ns.begin(), ns.end(), time.ns.begin());
  time.error = cross_validated(rows, fit_rows);
  return time;
}

auto shape_of(const embedding::LookupCall& call) {
  return std::tuple(call.tables, call.rows, call.dim, call.bags, call.lookups, call.zipf);
}

void extend(MeasuredRange& range, double value, bool is_first) {
  range.least = is_first ? value : std::min(range.least, value);
  range.most = is_first ? value : std::max(range.most, value);
}

Status check_positive(double value, std::size_t index, std::string_view what) {
  if (std::isfinite(value) && value > 0) return {};
  return invalid_input("/" + std::to_string(index), std::string(what) + " must be above 0");
}

Status check_count(std::size_t count, std::size_t most, std::string_view what) {
  if (count <= most) return {};
  return invalid_input("/" + std::to_string(most),
                       "there may be " + std::to_string(most) + " " + std::string(what));
}

Status check_measurement(const LookupMeasurement& measured, std::size_t index) {
  const embedding::LookupCall& call = measured.call;
  for (const auto& [name, member] : embedding::kCallSizes) {
    if (member != &embedding::LookupCall::zipf)
      SHARDWRIGHT_RETURN_IF_ERROR(check_positive(call.*member, index, name));
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(call.tables, index, "tables"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(measured.forward_us, index, "forward_us"));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_positive(measured.backward_us.value_or(1), index, "backward_us"));
  if (!(call.zipf >= 0 && call.zipf <= 4 && call.hit_rate >= 0 && call.hit_rate <= 1))
    return invalid_input("/" + std::to_string(index), "zipf must be from 0 to 4, hit_rate to 1");
  return {};
}

// Fits the measurements with these indices, which are of one kind. Returns nullopt if they have too
// few shapes.
std::optional<LookupModel> fit_kind(std::span<const LookupMeasurement> all,
                                    const std::vector<std::size_t>& chosen,
                                    const DeviceMemory& memory) {
  LookupModel model;
  model.kind = all[chosen.front()].kind;
  model.measurements = static_cast<std::int64_t>(chosen.size());
  std::vector<decltype(shape_of(all[0].call))> shapes;
  RelativeRows forward, backward;
  for (const std::size_t index : chosen) {
    const LookupMeasurement& measured = all[index];
    const auto shape = shape_of(measured.call);
    const auto known = std::find(shapes.begin(), shapes.end(), shape);
    const auto number = static_cast<std::size_t>(known - shapes.begin());
    if (known == shapes.end()) shapes.push_back(shape);
    // A grid of shapes has periods, so folds are drawn by a hash of the shape's number.
    const std::size_t fold = RandomGenerator::bits_at(0, number) % kFolds;
    const CostTerms terms = cost_terms(measured.kind, measured.call, memory);
    constexpr double kNsPerUs = 1000;
    forward.add(std::span(terms).first(kNumForwardTerms), measured.forward_us * kNsPerUs, fold);
    if (measured.backward_us) backward.add(terms, *measured.backward_us * kNsPerUs, fold);
    const bool is_first = index == chosen.front();
    for (std::size_t i = 0; i < embedding::kCallSizes.size(); ++i)
      extend(model.measured[i], measured.call.*embedding::kCallSizes[i].member, is_first);
  }
  if (shapes.size() < kLeastShapes) return std::nullopt;
  model.forward = fitted(forward);
  if (!backward.fold.empty()) model.backward = fitted(backward);
  return model;
}

// Returns the indices of measurements with equal keys together, keys in the order of occurrence.
template <class Measurement, class Key>
std::vector<std::vector<std::size_t>> grouped(std::span<const Measurement> all, const Key& key) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& others) {
      return key(all[others.front()]) == key(all[i]);
    });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(i);
  }
  return groups;
}

}  // namespace

Result<std::vector<LookupModel>> fit_lookups(std::span<const LookupMeasurement> measurements,
                                             const DeviceMemory& memory) {
  std::vector<LookupModel> models;
  SHARDWRIGHT_RETURN_IF_ERROR(check_count(measurements.size(), kMostMeasurements, "measurements"));
  for (std::size_t i = 0; i < measurements.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(check_measurement(measurements[i], i));
  for (const auto& group : grouped(measurements, [](const auto& one) { return one.kind; })) {
    if (std::optional<LookupModel> model = fit_kind(measurements, group, memory))
      models.push_back(*std::move(model));
  }
  return models;
}

namespace {

// Latency, bytes up to the knee, bytes above it.
std::vector<double> collective_terms(double bytes, double knee) {
  return {1, std::min(bytes, knee), std::max(0.0, bytes - knee)};
}

// Returns knee, latency and the two rates that fit best; the knee is one of the sizes.
std::vector<double> fit_knee(std::span<const CollectiveMeasurement> chosen) {
  std::vector<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (const CollectiveMeasurement& at : chosen) {
    RelativeRows rows;
    for (const CollectiveMeasurement& one : chosen)
      rows.add(collective_terms(one.bytes, at.bytes), one.us, 0);
    std::vector<double> fit = fit_rows(rows);
    double squares = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      squares += std::pow(error_of(rows.row(i), fit), 2);
    if (squares >= least) continue;
    least = squares;
    best = std::move(fit);
    best.push_back(at.bytes);
  }
  return best;
}

MeasuredCollective model_of(const std::vector<double>& fit) {
  MeasuredCollective model;
  model.latency_us = fit[0];
  model.us_per_byte_below = fit[1];
  model.us_per_byte_above = fit[2];
  model.knee_bytes = fit[3];
  return model;
}

// Fits measurements of one collective. Each one is predicted from the others.
MeasuredCollective fit_collective(const std::vector<CollectiveMeasurement>& chosen) {
  MeasuredCollective model = model_of(fit_knee(chosen));
  std::vector<double> errors;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::vector<CollectiveMeasurement> others = chosen;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    errors.push_back(std::abs(model_of(fit_knee(others)).us(chosen[i].bytes) / chosen[i].us - 1));
    extend(model.bytes, chosen[i].bytes, i == 0);
  }
  model.error = distribution(std::move(errors));
  model.operation = chosen.front().operation;
  model.scope = chosen.front().scope;
  model.ranks = chosen.front().ranks;
  return model;
}

}  // namespace

Result<std::vector<MeasuredCollective>> fit_collectives(
    std::span<const CollectiveMeasurement> measurements) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_count(measurements.size(), kMostCollectives, "measurements"));
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_positive(measurements[i].bytes, i, "bytes"));
    SHARDWRIGHT_RETURN_IF_ERROR(check_positive(measurements[i].us, i, "us"));
  }
  std::vector<MeasuredCollective> models;
  const auto key = [](const CollectiveMeasurement& one) {
    return std::tuple(one.operation, one.scope, one.ranks);
  };
  for (const auto& group : grouped(measurements, key)) {
    if (group.size() < kLeastSizes) continue;
    if (group.size() > kMostSizes) {
      return invalid_input("/" + std::to_string(group[kMostSizes]),
                           "one collective may have " + std::to_string(kMostSizes) + " sizes");
    }
    std::vector<CollectiveMeasurement> chosen;
    chosen.reserve(group.size());
    for (const std::size_t i : group)
      chosen.push_back(measurements[i]);
    models.push_back(fit_collective(chosen));
  }
  return models;
}

}  // namespace shardwright::machine
