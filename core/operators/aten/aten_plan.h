// A plan for an AtenGraph: the placement of every tensor, and the moves that overlap with compute.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "core/operators/aten/axis_roles.h"
#include "core/operators/aten/held_tensors.h"
#include "core/operators/aten/roofline.h"

namespace shardwright::operators {

// Fractions, from 0 to 1, of the time of moves that may overlap with compute.
// Thread safety: a value.
struct OverlapShares {
  double parameters = 0;  // of tensors that depend on parameters alone: their moves can begin early
  double gradients = 0;   // of tensors used for parameter gradients only: their moves can end late

  bool any() const { return parameters > 0 || gradients > 0; }
};

// Says which operator hides a move behind its compute time. Thread safety: a value.
struct Hiding {
  enum class By : std::uint8_t { kNothing, kConsumer, kProducer };
  By by = By::kNothing;
  double share = 0;  // fraction of the move's time that may be hidden
  double part = 0;   // fraction of the operator's time; the sum over its moves is at most 1

  double hidden_us(double move_us, double compute_us) const {
    return by == By::kNothing ? 0 : std::min(share * move_us, part * compute_us);
  }

  friend auto operator<=>(const Hiding&, const Hiding&) = default;
};

// A model of moves that overlap with compute. A cost term may depend on two neighbouring nodes
// only. An operator therefore hides the gathering of its own parameters, up to its own compute
// time; in a chain of operators, this stands for hiding the gathering for the next operator. An
// operator that computes a gradient hides the reduction of this gradient in the same way. If an
// operator may hide moves of several tensors, its time is divided among the moves by bytes. Hidden
// time exceeds neither the time of the moves nor the compute time. Views and placeholders hide
// nothing.
// Thread safety: const members may be called from any thread.
class Overlap {
 public:
  // O(inputs). Hides nothing if all shares are 0.
  Overlap(const AtenGraph& graph, const OverlapShares& shares);

  const OverlapShares& shares() const { return shares_; }
  const Hiding& of(const TakenTensor& taken) const {
    return shares_.any() ? hiding_[place_of(taken)] : nothing_;
  }
  // Returns the hidden part of `move_us`, the time of a move. `compute_us(node)`: in us.
  template <class ComputeUs>
  double hidden_us(const TakenTensor& taken, double move_us, const ComputeUs& compute_us) const {
    const Hiding& hiding = of(taken);
    if (hiding.by == Hiding::By::kNothing) return 0;
    return hiding.hidden_us(move_us, compute_us(nodes_[place_of(taken)]));
  }

 private:
  std::size_t place_of(const TakenTensor& taken) const {
    return first_[taken.consumer] + taken.input;
  }

  OverlapShares shares_;
  Hiding nothing_;
  std::vector<Hiding> hiding_;        // by consumer, then by input
  std::vector<std::uint32_t> nodes_;  // by consumer and input: the node that hides; 0 if none
  std::vector<std::uint32_t> first_;  // by consumer: index into both
};

// The plan of one node. Each consumer of a tensor pays for its own redistribution.
struct AtenNodePlan {
  std::vector<MaybePlacement> outputs;
  std::vector<MaybePlacement> inputs;  // placements in which the operator takes its inputs
  double compute_us = 0;
  std::vector<double> redistribute_us;  // by input; 0 where nothing moves
  std::vector<double> hidden_us;        // hidden part of redistribute_us; empty if none is
};

struct AtenOutputPlan {
  redistribution::Placement placement;
  double redistribute_us = 0;
  double hidden_us = 0;  // hidden part of redistribute_us
};

// Thread safety: a value.
struct AtenPlan {
  redistribution::MeshShape mesh;
  CollectiveBackend backend = CollectiveBackend::kNccl;
  OverlapShares overlap;
  AxisRoles roles;                      // that the plan keeps to; empty if all axes are free
  std::vector<AtenNodePlan> nodes;      // by node of the graph
  std::vector<AtenOutputPlan> outputs;  // by output of the graph
};

// Thread safety: as each implementation says.
class TransitionCosts {
 public:
  virtual ~TransitionCosts() = default;

  // Returns the microseconds to move a tensor: infinite if impossible, 0 if both placements are
  // equal. Pure: the same arguments give the same value.
  virtual double microseconds(const AtenTensor& tensor, const redistribution::Placement& source,
                              const redistribution::Placement& target) = 0;

  // Returns the times of all pairs, row-major: by source, then by target.
  virtual std::vector<double> table(const AtenTensor& tensor,
                                    std::span<const redistribution::Placement> sources,
                                    std::span<const redistribution::Placement> targets);

 protected:
  TransitionCosts() = default;
  TransitionCosts(const TransitionCosts&) = default;
  TransitionCosts& operator=(const TransitionCosts&) = default;
};

}  // namespace shardwright::operators
