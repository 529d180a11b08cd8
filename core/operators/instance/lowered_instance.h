// An operator graph with the smaller instance that is solved for it.
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

// Operators that must take the same strategy become one node of the solved instance: their costs
// and bytes are added, edges among them become node costs, parallel edges stay. The instance may
// have further nodes, which are not operators. Thread safety: const members may be called from any
// thread.
class LoweredInstance {
 public:
  // Merges nothing.
  explicit LoweredInstance(CostInstance graph);

  // Node i takes the strategy of node leaders[i], mostly itself; chains are followed. The nodes of
  // `graph` come first in `spec`, which may have more.
  // Errors: kInvalidInput if leaders form a cycle or a node and its leader differ in their number
  // of strategies, and those of CostInstance::make.
  static Result<LoweredInstance> make(CostInstance graph, CostInstanceSpec spec,
                                      std::span<const std::uint32_t> leaders);

  // One node per operator, with the edges between operators and what they hold.
  const CostInstance& graph() const { return *graph_; }
  // The instance to solve.
  const CostInstance& instance() const { return *instance_; }
  // By operator, its node of instance().
  std::span<const std::uint32_t> variables() const { return variables_; }

  // Turns a choice by node of instance() into one by operator.
  std::vector<std::uint32_t> operator_choice(std::span<const std::uint32_t> choice) const;

 private:
  LoweredInstance() = default;

  std::shared_ptr<const CostInstance> graph_;
  std::shared_ptr<const CostInstance> instance_;  // the same object if nothing was merged
  std::vector<std::uint32_t> variables_;
};

// A memory budget that may be exceeded at a price.
struct SoftBudget {
  std::int64_t bytes = 0;
  double cost_per_byte = 0;  // of the bytes by which the peak exceeds the budget
};

// An instance with the requirements that an instance cannot express.
struct OperatorProblem {
  explicit OperatorProblem(LoweredInstance instance)
      : lowered(std::move(instance)), num_memory_time_points(lowered.instance().limits().size()) {}

  LoweredInstance lowered;
  std::vector<std::vector<std::string>> strategy_names;  // by operator; may be empty
  // Limits beyond these are not on memory.
  std::size_t num_memory_time_points = 0;
  std::optional<SoftBudget> soft_budget;
  std::optional<double> max_cost;  // choices that cost more are not allowed
};

}  // namespace shardwright::operators
