#include "search/operators/aten/counted_moves.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/operators/aten/plan/plan_memory.h"

namespace shardwright::operators {

bool CountedMoves::is_counted(const TakenTensor& taken) const {
  return std::binary_search(tensors_.begin(), tensors_.end(), taken);
}

// The tensors without movers that move where the plan exceeds the limit.
std::vector<TakenTensor> CountedMoves::uncounted(const AtenGraph& graph, const AtenPlan& plan,
                                                 std::int64_t limit) const {
  // By moment: how many of these and of the earlier ones exceed the limit.
  std::vector<std::uint32_t> exceeding{0};
  for (const AtenMemory& each : memory_by_moment(graph, plan, optimizer_states_))
    exceeding.push_back(exceeding.back() + (each.total() > limit ? 1 : 0));
  std::vector<TakenTensor> found;
  for (const HeldTensor& held : held_tensors(graph, optimizer_states_)) {
    if (!held.is_taken() || exceeding[held.live.end] == exceeding[held.live.begin]) continue;
    if (!is_counted(held.taken()) && held_bytes(graph, plan, held) > 0)
      found.push_back(held.taken());
  }
  return found;
}

bool CountedMoves::add(const AtenVariables& variables, const AtenPlan& plan, std::int64_t limit) {
  const AtenGraph& graph = variables.graph();
  std::set<std::pair<std::uint32_t, std::uint32_t>> kinds;  // class and input
  for (const TakenTensor& taken : uncounted(graph, plan, limit))
    kinds.emplace(variables.class_of(taken.consumer), taken.input);
  std::vector<TakenTensor> with;
  for (std::uint32_t c = 0; c < variables.num_consumers(); ++c) {
    const std::size_t inputs = c < graph.size() ? graph[c].inputs.size() : 1;
    for (std::uint32_t i = 0; i < inputs; ++i) {
      if (is_counted({c, i}) || kinds.contains({variables.class_of(c), i})) with.push_back({c, i});
    }
  }
  const bool is_new = with.size() > tensors_.size();
  tensors_ = std::move(with);
  return is_new;
}

}  // namespace shardwright::operators
