// What it costs to move a tensor from one placement to another: the interface of a plan's costs.
#pragma once

#include <span>
#include <vector>

#include "core/operators/aten/graph/aten_tensor.h"

namespace shardwright::operators {

// Thread safety: as each implementation says.
class TransitionCosts {
 public:
  virtual ~TransitionCosts() = default;

  // Microseconds; infinite if the tensor cannot get there. 0 if both are equal. Pure: the same
  // arguments give the same value.
  virtual double microseconds(const AtenTensor& tensor, const redistribution::Placement& source,
                              const redistribution::Placement& target) = 0;

  // The same for many, by source and then by target.
  virtual std::vector<double> table(const AtenTensor& tensor,
                                    std::span<const redistribution::Placement> sources,
                                    std::span<const redistribution::Placement> targets);

 protected:
  TransitionCosts() = default;
  TransitionCosts(const TransitionCosts&) = default;
  TransitionCosts& operator=(const TransitionCosts&) = default;
};

}  // namespace shardwright::operators
