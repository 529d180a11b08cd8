// An operator graph beside the smaller problem that solves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"

namespace shardwright::operators {

// Operators that must take the same strategy are one node of what is solved: their costs and bytes
// are added, edges among them become node costs, parallel edges stay. Nodes beyond those of the
// operators may stand for anything else.
// Thread safety: const members may be called from any thread.
class LoweredInstance {
 public:
  // Nothing is merged.
  explicit LoweredInstance(CostInstance graph);

  // leaders[i] is the node whose strategy node i takes, itself for most; chains are followed. The
  // nodes of `graph` come first in `spec`, which may have more. Errors: kInvalidInput where leaders
  // go in a circle or a node has another number of strategies than its leader, and those of
  // CostInstance::make.
  static Result<LoweredInstance> make(CostInstance graph, CostInstanceSpec spec,
                                      std::span<const std::uint32_t> leaders);

  // One node per operator, edges between operators, what the operators hold.
  const CostInstance& graph() const { return *graph_; }
  // What is solved.
  const CostInstance& instance() const { return *instance_; }
  // By operator: the node of instance().
  std::span<const std::uint32_t> variables() const { return variables_; }

  // By operator, of a choice by node of instance().
  std::vector<std::uint32_t> operator_choice(std::span<const std::uint32_t> choice) const;

 private:
  LoweredInstance() = default;

  std::shared_ptr<const CostInstance> graph_;
  std::shared_ptr<const CostInstance> instance_;  // the same object where nothing was merged
  std::vector<std::uint32_t> variables_;
};

// A memory budget that may be exceeded at a price.
struct SoftBudget {
  std::int64_t bytes = 0;
  double cost_per_byte = 0;  // times the bytes by which the peak exceeds the budget
};

// An instance with what an instance cannot say.
struct OperatorProblem {
  explicit OperatorProblem(LoweredInstance instance)
      : lowered(std::move(instance)), num_memory_time_points(lowered.instance().limits().size()) {}

  LoweredInstance lowered;
  std::vector<std::vector<std::string>> strategy_names;  // by operator; may be empty
  // Limits beyond these are on something else than memory.
  std::size_t num_memory_time_points = 0;
  std::optional<SoftBudget> soft_budget;
  std::optional<double> max_cost;  // a dearer choice is none
};

}  // namespace shardwright::operators
