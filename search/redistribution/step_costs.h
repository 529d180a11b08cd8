// Cost models of the moves of a tensor on a mesh.
#pragma once

#include <cstdint>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/placement/move.h"
#include "core/redistribution/placement/placement.h"

namespace shardwright::redistribution {

// Thread safety: a value.
struct TensorOnMesh {
  MeshShape mesh;
  Shape shape;
};

// A move of a tensor, with the quantities that its cost depends on.
struct PricedMove {
  const Move& move;
  std::int64_t held_before;   // elements of the largest device before the move
  std::int64_t held_after;    // and after it
  std::int64_t parts_before;  // devices that a whole tensor is spread over before the move
};

// Thread safety: const members may be called from any thread.
class StepCosts {
 public:
  virtual ~StepCosts() = default;

  // Not negative; infinite if the model forbids the move. Pure, and does not allocate. The unit is
  // that of the model, usually microseconds. Moves of dimension 0, and exchanges of dimensions 0
  // and 1, cost no more than the same moves of other dimensions. The cost may depend in any way on
  // the larger of held_before and held_after, but does not fall as the smaller one grows.
  virtual double cost(const PricedMove& step) const = 0;

  // Returns true if no move gets cheaper when the tensor is spread over fewer devices, which then
  // hold more elements. The search then asks for fewer costs.
  virtual bool is_monotone() const { return false; }

  // Returns true if collectives over several axes at once, or messages that permute devices, have a
  // finite cost. The search tries such moves only then. Messages along more axes cost no less.
  virtual bool knows_groups() const { return false; }

 protected:
  StepCosts() = default;
  StepCosts(const StepCosts&) = default;
  StepCosts& operator=(const StepCosts&) = default;
};

// Collectives have the model's cost for the bytes of the largest device. Slices and new partial
// values cost a copy of a device's tensor; so does each dimension other than the first that a
// collective gathers, exchanges or scatters.
// Thread safety: const members may be called from any thread.
class CollectiveStepCosts final : public StepCosts {
 public:
  struct Options {
    std::int64_t itemsize = 4;       // bytes of an element
    double launch_us = 0;            // of every collective, in addition to the model's cost
    double copy_bytes_per_us = 1e6;  // a kernel that reads and writes; infinite: copies are free
    bool groups = true;              // also ask the model for several axes at once
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

// The price of each step is dtensor_step(), for the bytes of the tensor divided by its shards.
// Slices and new partial values are free. Thread safety: const members may be called from any
// thread.
class DTensorStepCosts final : public StepCosts {
 public:
  // `bytes`: of the whole tensor. The costs must outlive this; DTensorCosts give DTensor's model.
  DTensorStepCosts(const CollectiveCosts& costs, std::int64_t bytes)
      : costs_(costs), bytes_(bytes) {}

  double cost(const PricedMove& step) const override;
  bool is_monotone() const override { return true; }

 private:
  const CollectiveCosts& costs_;
  std::int64_t bytes_;
};

}  // namespace shardwright::redistribution
