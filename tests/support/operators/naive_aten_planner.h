// The cheapest plan of a small graph of PyTorch's operators, by trying all placements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/aten/aten_plan.h"
#include "core/operators/aten/held_tensors.h"

namespace shardwright::test_support {

// What trying everything found.
struct NaiveAtenAnswer {
  bool ended = false;              // everything was tried
  std::optional<double> least_us;  // none: no plan is within the limit
};

// Places node after node in every way that its rule allows. A branch ends if what it has costs or
// holds too much already. Takes rules, times and memory from core alone. Without overlap.
// Thread safety: one thread at a time. Borrows its arguments.
class NaiveAtenPlanner {
 public:
  NaiveAtenPlanner(const operators::AtenGraph& graph, const redistribution::MeshShape& mesh,
                   const operators::ComputeDevice& device, operators::TransitionCosts& transitions,
                   std::int64_t optimizer_states = 2);

  // Gives up after `most_tried` placements of nodes.
  NaiveAtenAnswer run(std::int64_t limit, std::uint64_t most_tried);

 private:
  // One placement of a node, or of an output of the graph, which has an input only.
  struct Option {
    std::vector<operators::MaybePlacement> outputs;
    std::vector<operators::MaybePlacement> inputs;
    double compute_us = 0;
  };
  // What is placed at once, and the tensors whose bytes are known from then on.
  struct Step {
    std::uint32_t consumer = 0;  // as of TakenTensor
    std::vector<Option> options;
    std::vector<operators::HeldTensor> held;
    std::vector<std::int64_t> least;  // by element of `held`: the fewest bytes
    double least_rest_us = 0;         // of this step and all that follow
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
  std::vector<std::int64_t> held_;  // by moment: of what is placed, and the least of the rest
  std::int64_t limit_ = 0;
  std::uint64_t left_ = 0;  // placements that may be tried
  NaiveAtenAnswer answer_;
};

}  // namespace shardwright::test_support
