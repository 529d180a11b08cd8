// Which of the tensors that move count in the memory of a model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/aten/plan/aten_plan.h"
#include "search/operators/aten/model/aten_variables.h"

namespace shardwright::operators {

// Few of the tensors that move do so where memory is short. Only these get movers; what the others
// hold does not count, so that no plan looks heavier than it is.
// Thread safety: a value.
class CountedMoves {
 public:
  explicit CountedMoves(std::int64_t optimizer_states) : optimizer_states_(optimizer_states) {}

  // Ascending: the tensors that have movers.
  std::span<const TakenTensor> tensors() const { return tensors_; }

  // Adds the tensors that move where the plan holds more than `limit`, and the same inputs of all
  // consumers of their classes: what is short in one block will be so in others. Returns true if
  // there are new ones.
  bool add(const AtenVariables& variables, const AtenPlan& plan, std::int64_t limit);

 private:
  std::vector<TakenTensor> uncounted(const AtenGraph& graph, const AtenPlan& plan,
                                     std::int64_t limit) const;
  bool is_counted(const TakenTensor& taken) const;

  std::int64_t optimizer_states_;
  std::vector<TakenTensor> tensors_;
};

}  // namespace shardwright::operators
