// The variables of a plan (nodes, outputs, movers), each with a class of strategies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operators/aten/aten_plan.h"
#include "core/operators/aten/held_tensors.h"
#include "search/executor.h"
#include "search/operators/aten/strategy_class.h"

namespace shardwright::operators {

// Nodes come first, then the outputs of the graph, then movers. A mover is a variable for a tensor
// that moves to one consumer. Its choice tells the tensor's placement at the consumer and the bytes
// held while it moves. Variables with equal rules, tensors and flops share a class, whose
// strategies are made once. Thread safety: const members may be called from any thread.
class AtenVariables {
 public:
  // The mesh, the backend of its collectives, and the roles of its axes.
  struct Machine {
    redistribution::MeshShape mesh;
    CollectiveBackend backend = CollectiveBackend::kNccl;
    AxisRoles roles;
  };
  // The models of compute and communication times.
  struct Times {
    const ComputeDevice& device;
    TransitionCosts& transitions;
    const Overlap& overlap;
  };
  // `moved`, ascending: the tensors that get movers, if they have a placement. `graph` must outlive
  // this. Errors: those of make_strategies, at `/nodes/<node>`; kInfeasible there without
  // strategies, such as strategies that keep to the roles.
  static Result<AtenVariables> make(const AtenGraph& graph, const Machine& machine,
                                    const Times& times, std::span<const TakenTensor> moved,
                                    Executor& executor);

  const AtenGraph& graph() const { return *graph_; }
  const redistribution::MeshShape& mesh() const { return machine_.mesh; }
  CollectiveBackend backend() const { return machine_.backend; }
  const RoleRules& roles() const { return roles_; }
  std::size_t size() const { return class_.size(); }
  std::size_t num_classes() const { return classes_.size(); }
  std::uint32_t class_of(std::size_t variable) const { return class_[variable]; }
  const StrategyClass& strategies(std::size_t variable) const { return classes_[class_[variable]]; }
  const StrategyClass& class_strategies(std::uint32_t number) const { return classes_[number]; }

  // The number of nodes and outputs of the graph.
  std::uint32_t num_consumers() const { return output_variable(graph_->outputs().size()); }
  // By mover, ascending: the tensor that it moves.
  std::span<const TakenTensor> moved() const { return moved_; }
  // Returns nullopt if the tensor has no mover.
  std::optional<std::uint32_t> mover_of(const TakenTensor& taken) const;
  std::string name(std::uint32_t variable) const;
  std::uint32_t output_variable(std::size_t output) const {
    return static_cast<std::uint32_t>(graph_->size() + output);
  }

 private:
  AtenVariables(const AtenGraph& graph, Machine machine)
      : graph_(&graph),
        machine_(std::move(machine)),
        roles_(graph, machine_.mesh, machine_.roles) {}

  void add_movers(std::span<const TakenTensor> moved, const Times& times);

  const AtenGraph* graph_;
  Machine machine_;
  RoleRules roles_;
  std::vector<std::uint32_t> class_;  // by variable
  std::vector<StrategyClass> classes_;
  std::vector<TakenTensor> moved_;
};

// Returns the leader of each variable, which is the variable itself outside of repeated blocks. A
// block is the set of variables of the modules below one number of a list, such as `layers.3`.
// Placeholders and gradients belong to the module that their target names, and backward operators
// without a module, such as sums of gradients, to the block of their last input with one. If the blocks of a list
// have the same classes variable by variable, the earliest variable at each position leads the
// others. Without module paths, blocks are runs of nodes of equal classes (find_repeated_blocks).
// Movers with equal inputs between variables of the same two leaders also share a leader.
std::vector<std::uint32_t> block_leaders(const AtenVariables& variables);

}  // namespace shardwright::operators
