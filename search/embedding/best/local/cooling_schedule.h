// How many steps a round has, and the temperature of each.
#pragma once

#include <cstdint>

#include "search/embedding/best/parameters/annealing_parameters.h"
#include "search/random.h"

namespace shardwright::embedding {

// What the schedule of a round depends on.
struct RoundShape {
  std::uint64_t round = 0;  // 0 is the first
  std::size_t num_tables = 0;
  bool squared = true;      // the goal
  bool uneven = false;      // ranks differ by rules or speed
  double typical_gain = 1;  // energy that the shards of a table add on average
};

// Geometric cooling.
// Thread safety: one thread at a time. Refers to the parameters.
class CoolingSchedule {
 public:
  explicit CoolingSchedule(const CoolingParameters& parameters) : parameters_(&parameters) {}

  // Draws where the temperature starts.
  void begin(const RoundShape& shape, RandomGenerator& random);

  bool is_over() const { return steps_left_ == 0; }
  // Calls `step` with the temperature until it returns false, the temperature falls or the round is
  // over.
  template <class Step>
  void run_level(const Step& step) {
    const std::uint64_t steps = parameters_->steps_per_temperature;
    bool more = true;
    for (std::uint64_t i = 0; i < steps && steps_left_ > 0 && more; ++i, --steps_left_)
      more = step(temperature_);
    temperature_ *= factor_;
  }

 private:
  double start_of(const RoundShape& shape, RandomGenerator& random) const;

  const CoolingParameters* parameters_;
  std::uint64_t steps_left_ = 0;
  double temperature_ = 0;
  double factor_ = 1;  // per level
};

}  // namespace shardwright::embedding
