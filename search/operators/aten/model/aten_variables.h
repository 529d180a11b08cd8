// The variables of a plan: the nodes of a graph and what leaves it, each with a class of
// strategies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/executor.h"
#include "search/operators/aten/model/strategy_class.h"

namespace shardwright::operators {

// Nodes come first, then the outputs of the graph. Variables with equal rules, tensors and flops
// share a class, whose strategies are made once. Thread safety: const members may be called from
// any thread.
class AtenVariables {
 public:
  // If `views_own`: a view has each strategy twice. The first half takes its input where it is, the
  // second half moves it, and then holds memory of its own. `graph` must outlive this.
  // Errors: those of make_strategies, at `/nodes/<node>`; kInfeasible there if no strategy is left.
  static Result<AtenVariables> make(const AtenGraph& graph, const redistribution::MeshShape& mesh,
                                    const ComputeDevice& device, bool views_own,
                                    Executor& executor);

  const AtenGraph& graph() const { return *graph_; }
  const redistribution::MeshShape& mesh() const { return mesh_; }
  std::size_t size() const { return class_.size(); }
  std::size_t num_classes() const { return classes_.size(); }
  std::uint32_t class_of(std::size_t variable) const { return class_[variable]; }
  const StrategyClass& strategies(std::size_t variable) const { return classes_[class_[variable]]; }
  const StrategyClass& class_strategies(std::uint32_t number) const { return classes_[number]; }

  bool owns(std::uint32_t number) const { return owns_[number] != 0; }
  // The choices of a variable of this class: its strategies, twice for a view that owns.
  std::uint32_t num_choices(std::uint32_t number) const {
    return static_cast<std::uint32_t>(classes_[number].size() * (owns(number) ? 2 : 1));
  }
  std::uint32_t strategy(std::size_t variable, std::uint32_t choice) const {
    return choice % static_cast<std::uint32_t>(strategies(variable).size());
  }
  std::uint32_t output_variable(std::size_t output) const {
    return static_cast<std::uint32_t>(graph_->size() + output);
  }

 private:
  AtenVariables(const AtenGraph& graph, redistribution::MeshShape mesh)
      : graph_(&graph), mesh_(std::move(mesh)) {}

  const AtenGraph* graph_;
  redistribution::MeshShape mesh_;
  std::vector<std::uint32_t> class_;  // by variable
  std::vector<StrategyClass> classes_;
  std::vector<char> owns_;  // by class
};

}  // namespace shardwright::operators
