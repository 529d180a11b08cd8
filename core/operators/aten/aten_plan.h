// A plan for an AtenGraph: the placement of every tensor, and which moves overlap with compute.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "core/operators/aten/held_tensors.h"
#include "core/operators/aten/roofline.h"

namespace shardwright::operators {

// The fraction of a move's time, from 0 to 1, that may overlap with compute.
// Thread safety: a value.
struct OverlapShares {
  double parameters = 0;  // of tensors that depend on parameters alone: moves can begin early
  double gradients = 0;   // of tensors used only for gradients of parameters: moves can end late

  bool any() const { return parameters > 0 || gradients > 0; }
};

// What hides one move. Thread safety: a value.
struct Hiding {
  enum class By : std::uint8_t { kNothing, kConsumer, kProducer };
  By by = By::kNothing;
  double share = 0;  // fraction of the move's time
  double part = 0;   // fraction of the operator's time; at most 1 in all over its moves

  double hidden_us(double move_us, double compute_us) const {
    return by == By::kNothing ? 0 : std::min(share * move_us, part * compute_us);
  }

  friend auto operator<=>(const Hiding&, const Hiding&) = default;
};

// A model of collectives that overlap with compute. A cost term may depend on two neighbouring
// nodes only. Therefore an operator hides the gathering of its own parameters, up to its own
// compute time; in a chain of operators this stands for hiding the gathering for the next operator.
// Likewise, an operator that makes a gradient hides the reduction of this gradient, up to its own
// compute time. If an operator may hide moves of several tensors, its time is divided among the
// moves by bytes. Hidden time exceeds neither the time of the moves nor that of compute. Views and
// placeholders take no time and hide nothing.
// Thread safety: const members may be called from any thread.
class Overlap {
 public:
  // O(inputs). Without shares, nothing is hidden.
  Overlap(const AtenGraph& graph, const OverlapShares& shares);

  const OverlapShares& shares() const { return shares_; }
  const Hiding& of(const TakenTensor& taken) const {
    return shares_.any() ? hiding_[place_of(taken)] : nothing_;
  }
  // Returns the hidden time of a move that takes `move_us`. `compute_us(node)`: an operator's time.
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
  std::vector<std::uint32_t> nodes_;  // the nodes that hide, in the same order; 0 if none
  std::vector<std::uint32_t> first_;  // by consumer, into both
};

// The plan of one node. Each consumer of a tensor pays for a redistribution of its own.
struct AtenNodePlan {
  std::vector<MaybePlacement> outputs;
  std::vector<MaybePlacement> inputs;  // what the operator takes
  double compute_us = 0;
  std::vector<double> redistribute_us;  // by input; 0 where nothing moves
  std::vector<double> hidden_us;        // hidden part of redistribute_us; empty if nothing overlaps
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
  std::vector<AtenNodePlan> nodes;      // by node of the graph
  std::vector<AtenOutputPlan> outputs;  // by output of the graph
};

// Thread safety: as each implementation says.
class TransitionCosts {
 public:
  virtual ~TransitionCosts() = default;

  // Microseconds to move a tensor; infinite if impossible, 0 if both placements are equal. Pure:
  // the same arguments give the same value.
  virtual double microseconds(const AtenTensor& tensor, const redistribution::Placement& source,
                              const redistribution::Placement& target) = 0;

  // The times of all pairs, by source and then by target.
  virtual std::vector<double> table(const AtenTensor& tensor,
                                    std::span<const redistribution::Placement> sources,
                                    std::span<const redistribution::Placement> targets);

 protected:
  TransitionCosts() = default;
  TransitionCosts(const TransitionCosts&) = default;
  TransitionCosts& operator=(const TransitionCosts&) = default;
};

}  // namespace shardwright::operators
