#include "search/embedding/best/local/cooling_schedule.h"

#include <algorithm>
#include <cmath>

namespace shardwright::embedding {
namespace {

constexpr double kDecade = 10.0;

}  // namespace

double CoolingSchedule::start_of(const RoundShape& shape, RandomGenerator& random) const {
  const CoolingParameters& cooling = *parameters_;
  const double tables = static_cast<double>(shape.num_tables);
  const double decades =
      std::log10(static_cast<double>(steps_left_) / (cooling.free_steps_per_table * (tables + 1)));
  const double coolest = shape.squared ? cooling.squared_coolest : cooling.linear_coolest;
  const std::uint64_t melt_every =
      shape.num_tables < cooling.few_tables ? cooling.few_tables_melt_every : cooling.melt_every;
  const bool melts = shape.uneven && shape.round % melt_every == 1 % melt_every;
  const double slow_hottest = shape.squared ? cooling.squared_hottest : cooling.linear_hottest;
  const double hottest =
      melts ? 0 : std::max(0.0, slow_hottest - cooling.heat_per_decade * decades);
  const double range = melts ? cooling.melting_range : coolest - hottest;
  return shape.typical_gain * std::pow(kDecade, -hottest - range * random.fraction());
}

void CoolingSchedule::begin(const RoundShape& shape, RandomGenerator& random) {
  const CoolingParameters& cooling = *parameters_;
  const double growth =
      std::pow(cooling.growth, static_cast<double>(std::min(shape.round, cooling.growing_rounds)));
  const double tables = static_cast<double>(shape.num_tables);
  steps_left_ = static_cast<std::uint64_t>(
      growth * std::max(cooling.least_steps, cooling.steps_per_table * tables));
  temperature_ = start_of(shape, random);
  const std::uint64_t full_levels = steps_left_ / cooling.steps_per_temperature;
  const double levels = static_cast<double>(full_levels + 1);
  const double end = shape.squared ? cooling.squared_end : cooling.linear_end;
  factor_ = std::exp(std::log(std::min(end / temperature_, 1.0)) / levels);
}

}  // namespace shardwright::embedding
