// Finds the cheapest plan of a small graph of PyTorch's operators by trying all placements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/aten/aten_plan.h"
#include "core/operators/aten/held_tensors.h"

namespace shardwright::test_support {

struct NaiveAtenAnswer {
  bool ended = false;              // false if the limit of placements ended the enumeration
  std::optional<double> least_us;  // absent if no plan is within the memory limit
};

// Places one node after the other in every way that its rule allows. A branch ends if its cost or
// memory is already too high. Uses rules, times and memory of core only, and models no overlap.
// Thread safety: one thread at a time. Borrows its arguments.
class NaiveAtenPlanner {
 public:
  NaiveAtenPlanner(const operators::AtenGraph& graph, const redistribution::MeshShape& mesh,
                   const operators::ComputeDevice& device, operators::TransitionCosts& transitions,
                   std::int64_t optimizer_states = 2);

  // Stops after `most_tried` placements of nodes. `limit` is in bytes per device.
  NaiveAtenAnswer run(std::int64_t limit, std::uint64_t most_tried);

 private:
  // One placement of a node or of an output of the graph. An output of the graph has one input and
  // no outputs.
  struct Option {
    std::vector<operators::MaybePlacement> outputs;
    std::vector<operators::MaybePlacement> inputs;
    double compute_us = 0;
  };
  // A node or output to place, and the tensors whose bytes are known once it is placed.
  struct Step {
    std::uint32_t consumer = 0;  // index as in TakenTensor
    std::vector<Option> options;
    std::vector<operators::HeldTensor> held;
    std::vector<std::int64_t> least;  // by element of `held`: fewest bytes over all placements
    double least_rest_us = 0;         // sum of the least times of this step and all later ones
  };

  std::vector<Option> options_of_node(const operators::AtenNode& node) const;
  std::vector<Option> options_of_output(const operators::AtenTensor& tensor) const;
  void place(const Step& step, const Option& option);
  double cost_of(const Step& step, const Option& option);
  bool is_paired(const Step& step, const Option& option) const;
  std::int64_t bytes_of(const Step& step, std::size_t held) const;
  void hold(const operators::HeldTensor& held, std::int64_t bytes);
  bool is_within(const operators::HeldTensor& held) const;
  void visit(std::size_t step, double cost);

  const operators::AtenGraph& graph_;
  const operators::ComputeDevice& device_;
  operators::TransitionCosts& transitions_;
  operators::AtenPlan plan_;
  std::vector<Step> steps_;
  // By moment: bytes of placed tensors, and the fewest bytes of the others.
  std::vector<std::int64_t> held_;
  std::int64_t limit_ = 0;
  std::uint64_t left_ = 0;  // number of placements that may still be tried
  NaiveAtenAnswer answer_;
};

}  // namespace shardwright::test_support
