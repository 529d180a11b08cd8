#include "search/machine/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "search/random.h"

namespace shardwright::fit_test {

using namespace shardwright::machine;

namespace {

using embedding::cost_terms;
using embedding::CostTerm;
using embedding::DeviceMemory;
using embedding::LookupModel;

const DeviceMemory kMemory{{1 << 20, 1 << 25}, 4096};

double squares(const std::vector<double>& rows, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t at = 0; at < rows.size(); at += x.size()) {
    double error = -1;
    for (std::size_t i = 0; i < x.size(); ++i)
      error += rows[at + i] * x[i];
    sum += error * error;
  }
  return sum;
}

// Solves the normal equations of the columns in `chosen` by Gaussian elimination.
std::vector<double> least_squares(const std::vector<double>& rows, std::size_t width,
                                  unsigned chosen) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < width; ++i) {
    if ((chosen >> i & 1U) != 0) columns.push_back(i);
  }
  const std::size_t n = columns.size();
  std::vector<std::vector<double>> matrix(n, std::vector<double>(n + 1));
  for (std::size_t at = 0; at < rows.size(); at += width) {
    for (std::size_t i = 0; i < n; ++i) {
      matrix[i][n] += rows[at + columns[i]];
      for (std::size_t j = 0; j < n; ++j)
        matrix[i][j] += rows[at + columns[i]] * rows[at + columns[j]];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const double factor = matrix[k][i] / matrix[i][i];
      for (std::size_t j = i; j <= n; ++j)
        matrix[k][j] -= factor * matrix[i][j];
    }
  }
  std::vector<double> x(width);
  for (std::size_t i = 0; i < n; ++i)
    x[columns[i]] = matrix[i][n] / matrix[i][i];
  return x;
}

TEST_CASE("fit: nonnegative least squares finds the best set of variables") {
  constexpr std::size_t kWidth = 5, kRows = 12;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    RandomGenerator random(seed);
    std::vector<double> rows;
    for (std::size_t i = 0; i < kWidth * kRows; ++i)
      rows.push_back(random.fraction() * 2 - 1);
    double best = std::numeric_limits<double>::infinity();
    for (unsigned chosen = 0; chosen < 1U << kWidth; ++chosen) {
      const std::vector<double> x = least_squares(rows, kWidth, chosen);
      if (std::all_of(x.begin(), x.end(), [](double value) { return value >= 0; }))
        best = std::min(best, squares(rows, x));
    }
    const std::vector<double> weights(kRows, 1);
    const std::vector<double> x = fit_nonnegative(rows, weights, kWidth);
    CHECK(std::all_of(x.begin(), x.end(), [](double value) { return value >= 0; }));
    CHECK(squares(rows, x) == doctest::Approx(best).epsilon(1e-9));
  }
}

TEST_CASE("fit: a weight counts as that many rows") {
  const std::vector<double> rows{1, 0.5, 2, 1, 0.2, 3}, twice{1, 0.5, 2, 1, 2, 1, 0.2, 3};
  const std::vector<double> weights{1, 2, 1}, ones(4, 1);
  const std::vector<double> x = fit_nonnegative(rows, weights, 2);
  const std::vector<double> y = fit_nonnegative(twice, ones, 2);
  CHECK(x[0] == doctest::Approx(y[0]));
  CHECK(x[1] == doctest::Approx(y[1]));
}

// Calls of random shapes whose times have these coefficients, and noise of at most `noise`.
std::vector<LookupMeasurement> synthetic(std::size_t count, double noise, std::uint64_t seed) {
  RandomGenerator random(seed);
  const auto between = [&](double least, double most) {
    return std::floor(least * std::pow(most / least, random.fraction()));
  };
  std::vector<LookupMeasurement> rows(count);
  for (LookupMeasurement& row : rows) {
    row.call.tables = between(1, 9);
    row.call.rows = between(100, 1e7);
    row.call.dim = 4 * between(1, 64);
    row.call.bags = between(100, 5000);
    row.call.lookups = row.call.bags * between(1, 50);
    const auto terms = cost_terms(row.kind, row.call, kMemory);
    const auto at = [&](CostTerm of) { return terms[static_cast<std::size_t>(of)]; };
    const double ns = 20000 + 5 * at(CostTerm::kLookup) + 0.1 * at(CostTerm::kLookupElement) +
                      8 * at(CostTerm::kMemoryLine);
    row.forward_us = ns / 1000 * (1 + noise * (2 * random.fraction() - 1));
    row.backward_us = 3 * row.forward_us;
  }
  return rows;
}

TEST_CASE("fit: known coefficients are found again") {
  const auto models = fit_lookups(synthetic(400, 0, 1), kMemory);
  REQUIRE(models.ok());
  REQUIRE(models->size() == 1);
  const LookupModel& model = models->front();
  const auto ns = [&](CostTerm of) { return model.forward.ns[static_cast<std::size_t>(of)]; };
  CHECK(ns(CostTerm::kCall) == doctest::Approx(20000).epsilon(1e-3));
  CHECK(ns(CostTerm::kLookup) == doctest::Approx(5).epsilon(1e-3));
  CHECK(ns(CostTerm::kLookupElement) == doctest::Approx(0.1).epsilon(1e-3));
  CHECK(ns(CostTerm::kMemoryLine) == doctest::Approx(8).epsilon(1e-3));
  CHECK(model.forward.error.p90 < 1e-6);
  CHECK(model.backward->error.p90 < 1e-6);
  CHECK(model.measurements == 400);
}

TEST_CASE("fit: the error that it states is that of shapes it has not seen") {
  constexpr double kNoise = 0.2;
  const auto models = fit_lookups(synthetic(200, kNoise, 2), kMemory);
  REQUIRE(models.ok());
  const LookupModel& model = models->front();
  std::vector<double> errors;
  for (const LookupMeasurement& row : synthetic(2000, kNoise, 3)) {
    const auto terms = cost_terms(row.kind, row.call, kMemory);
    double us = 0;
    for (std::size_t i = 0; i < terms.size(); ++i)
      us += model.forward.ns[i] * terms[i] / 1000;
    errors.push_back(std::abs(us / row.forward_us - 1));
  }
  std::sort(errors.begin(), errors.end());
  // 200 shapes tell the median of an error to about a tenth of the noise.
  CHECK(model.forward.error.median == doctest::Approx(errors[1000]).epsilon(0.2));
  CHECK(model.forward.error.p90 == doctest::Approx(errors[1800]).epsilon(0.2));
}

TEST_CASE("fit: kinds are apart, and one with few shapes has no model") {
  std::vector<LookupMeasurement> rows = synthetic(40, 0.01, 4);
  for (std::size_t i = 0; i < 15; ++i)
    rows[2 * i].kind.weighted = true;
  rows[1].kind.data_type = embedding::DataType::kFp16;
  const auto models = fit_lookups(rows, kMemory);
  REQUIRE(models.ok());
  REQUIRE(models->size() == 2);
  CHECK((*models)[0].kind.weighted);
  CHECK((*models)[0].measurements == 15);
  CHECK((*models)[1].measurements == 24);
  for (LookupMeasurement& row : rows)  // one shape, measured often, is one shape
    row.call = rows[0].call;
  CHECK(fit_lookups(rows, kMemory)->empty());
}

TEST_CASE(
    "fit: repetitions of a shape are in one fold, and the order of rows decides nothing else") {
  const std::vector<LookupMeasurement> rows = synthetic(60, 0.1, 5);
  const auto once = fit_lookups(rows, kMemory), again = fit_lookups(rows, kMemory);
  REQUIRE(once.ok());
  CHECK(once->front().forward.ns == again->front().forward.ns);
  CHECK(once->front().forward.error.median == again->front().forward.error.median);
}

TEST_CASE("fit: a time that is no time is refused with its row") {
  std::vector<LookupMeasurement> rows = synthetic(20, 0, 6);
  rows[7].forward_us = 0;
  const auto models = fit_lookups(rows, kMemory);
  REQUIRE_FALSE(models.ok());
  CHECK(models.error().to_string() == "/7: forward_us must be above 0");
}

TEST_CASE("fit: more measurements than a fit takes seconds for are refused") {
  std::vector<CollectiveMeasurement> rows;
  for (std::size_t i = 0; i <= kMostSizes; ++i) {
    CollectiveMeasurement& row = rows.emplace_back();
    row.ranks = 8;
    row.bytes = static_cast<double>(1024 * (i + 1));
    row.us = 30;
  }
  const auto error_of = [&] { return fit_collectives(rows).error().to_string(); };
  CHECK(error_of() == "/128: one collective may have 128 sizes");
  rows.resize(kMostCollectives + 1, rows[0]);
  CHECK(error_of() == "/1024: there may be 1024 measurements");
  const std::vector<LookupMeasurement> lookups(kMostMeasurements + 1);
  CHECK(fit_lookups(lookups, kMemory).error().to_string() ==
        "/20000: there may be 20000 measurements");
}

TEST_CASE("fit: latency, knee and bandwidths of a collective") {
  std::vector<CollectiveMeasurement> rows;
  for (double bytes = 1024; bytes <= 1 << 28; bytes *= 4) {
    CollectiveMeasurement& row = rows.emplace_back();
    row.ranks = 8;
    row.bytes = bytes;
    row.us = 30 + std::min(bytes, 65536.0) * 4e-4 + std::max(0.0, bytes - 65536) * 5e-6;
  }
  rows.push_back(rows.front());
  rows.back().ranks = 16;  // one size: no model
  const auto models = fit_collectives(rows);
  REQUIRE(models.ok());
  REQUIRE(models->size() == 1);
  CHECK(models->front().latency_us == doctest::Approx(30).epsilon(1e-3));
  CHECK(models->front().knee_bytes == 65536);
  CHECK(models->front().us_per_byte_below == doctest::Approx(4e-4).epsilon(1e-3));
  CHECK(models->front().us_per_byte_above == doctest::Approx(5e-6).epsilon(1e-3));
  CHECK(models->front().error.median < 1e-3);
  CHECK(models->front().bytes.least == 1024);
}

}  // namespace

}  // namespace shardwright::fit_test
