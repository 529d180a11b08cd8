// The present choice of the local search with what it holds and what bytes cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/graph/usage_profile.h"

namespace shardwright::operators {

// What the workers of the local search read and nobody writes during a batch.
// Thread safety: const use from any thread.
struct SearchState {
  explicit SearchState(const ChoiceGraph& g);

  const ChoiceGraph& graph;
  std::vector<std::uint32_t> choice;  // by node
  UsageProfile profile;               // of the choice
  std::vector<double> prices;         // of a byte, by time point
  std::vector<double> priced;         // cost plus what the bytes cost, by strategy

  // Sets the choice and counts its usage anew.
  void set_choice(std::span<const std::uint32_t> new_choice);
  void change(std::uint32_t node, std::uint32_t strategy);
  void update_priced();
  // What is held beyond the limit, by time point; negative where there is room.
  std::vector<std::int64_t> excess() const;
};

}  // namespace shardwright::operators
