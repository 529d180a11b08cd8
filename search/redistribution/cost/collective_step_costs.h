// Steps of one tensor under any model of collectives.
#pragma once

#include <cstdint>

#include "core/redistribution/cost/collective_costs.h"
#include "search/redistribution/cost/step_costs.h"

namespace shardwright::redistribution {

// Collectives cost what the model says for the bytes of the largest device. Slices and new partial
// values copy what a device holds; so do collectives for each dimension but the first that they
// gather, exchange or scatter.
// Thread safety: const members may be called from any thread.
class CollectiveStepCosts final : public StepCosts {
 public:
  struct Options {
    std::int64_t itemsize = 4;       // bytes of an element
    double launch_us = 0;            // of every collective, beside what the model says
    double copy_bytes_per_us = 1e6;  // a kernel that reads and writes; infinite: copies are free
    bool groups = true;              // ask the model for several axes at once, too
    bool is_monotone = true;         // the model's times do not fall as bytes grow
  };

  // The costs must outlive this.
  CollectiveStepCosts(const CollectiveCosts& costs, const Options& options)
      : costs_(costs), options_(options) {}

  double cost(const PricedMove& step) const override;
  bool is_monotone() const override { return options_.is_monotone; }
  bool knows_groups() const override { return options_.groups; }

 private:
  double collective_us(Collective collective, const Axes& axes, double bytes) const;

  const CollectiveCosts& costs_;
  Options options_;
};

}  // namespace shardwright::redistribution
