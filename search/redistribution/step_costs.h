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
  std::int64_t held_before;   // the most elements on any device before the move
  std::int64_t held_after;    // and after the move
  std::int64_t parts_before;  // the number of shards of the whole tensor before the move
};

// Thread safety: const members may be called from any thread.
class StepCosts {
 public:
  virtual ~StepCosts() = default;

  // Returns the cost in the unit of the model, usually microseconds. The cost is at least 0, and
  // infinite if the model forbids the move. Pure, and allocates nothing. The search relies on two
  // properties. A move of dimension 0, or an exchange between dimensions 0 and 1, costs no more
  // than the same move of other dimensions. The cost does not fall as the smaller of held_before
  // and held_after grows; it may depend in any way on the larger one.
  virtual double cost(const PricedMove& step) const = 0;

  // Returns true if a move never gets cheaper when the tensor has fewer shards, so that each device
  // holds more elements. The search then asks for fewer costs.
  virtual bool is_monotone() const { return false; }

  // Returns true if collectives over several axes at once, or messages that permute devices, can
  // have a finite cost. Otherwise the search does not try such moves. A permutation along a set of
  // axes must not cost less than a permutation along a subset.
  virtual bool knows_groups() const { return false; }

 protected:
  StepCosts() = default;
  StepCosts(const StepCosts&) = default;
  StepCosts& operator=(const StepCosts&) = default;
};

// A collective costs what `costs` says for the bytes of the device that holds most. Collectives
// work on dimension 0. Every other dimension that they gather, exchange or scatter costs a copy of
// a device's tensor in addition. A slice or a new partial value costs one copy.
// Thread safety: const members may be called from any thread.
class CollectiveStepCosts final : public StepCosts {
 public:
  struct Options {
    std::int64_t itemsize = 4;       // bytes of an element
    double launch_us = 0;            // added to the model's cost of every collective
    double copy_bytes_per_us = 1e6;  // speed of a copy; infinite: copies are free
    bool groups = true;              // tell the search that the model knows several axes at once
    bool is_monotone = true;         // the model's times do not fall as bytes grow
  };

  // `costs` must outlive this.
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

// Prices a move with dtensor_step(), for the bytes of the tensor divided by its number of shards.
// Slices and new partial values are free; moves over several axes are forbidden. Thread safety:
// const members may be called from any thread.
class DTensorStepCosts final : public StepCosts {
 public:
  // `bytes`: of the whole tensor. `costs` must outlive this; DTensorCosts have DTensor's model.
  DTensorStepCosts(const CollectiveCosts& costs, std::int64_t bytes)
      : costs_(costs), bytes_(bytes) {}

  double cost(const PricedMove& step) const override;
  bool is_monotone() const override { return true; }

 private:
  const CollectiveCosts& costs_;
  std::int64_t bytes_;
};

}  // namespace shardwright::redistribution
