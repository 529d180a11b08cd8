// The current choice of the local search, the memory that it holds, and the prices of bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/graph/usage_profile.h"

namespace shardwright::operators {

// Shared by the workers of the local search, which only read it during a batch.
// Thread safety: const use from any thread.
struct SearchState {
  explicit SearchState(const ChoiceGraph& g);

  const ChoiceGraph& graph;
  std::vector<std::uint32_t> choice;  // by node
  UsageProfile profile;               // of the choice
  std::vector<double> prices;         // of a byte, by time point
  std::vector<double> priced;         // cost plus priced bytes, by strategy

  // Sets the choice and recomputes the profile.
  void set_choice(std::span<const std::uint32_t> new_choice);
  void change(std::uint32_t node, std::uint32_t strategy);
  void update_priced();
  // The bytes held beyond the limit, by time point; negative if there is room.
  std::vector<std::int64_t> excess() const;
};

}  // namespace shardwright::operators
