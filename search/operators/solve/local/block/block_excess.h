// Where changes to a choice exceed the memory limits most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/graph/search_state.h"

namespace shardwright::operators {

// Another strategy for a node.
struct ChoiceChange {
  std::uint32_t node;
  std::uint32_t strategy;
};

// Bytes beyond the limits.
struct Excess {
  std::int64_t bytes = 0;  // 0: all limits hold
  // The kept time points [begin, end) at which the changes hold `more` bytes than the present
  // choice.
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::int64_t more = 0;
};

// Keeps its scratch. Thread safety: one thread at a time.
class ExcessFinder {
 public:
  // The largest excess at a time point where the changes hold more than the choice of the state.
  // O(usages * log times).
  Excess largest(const SearchState& state, std::span<const ChoiceChange> changes);

 private:
  struct Event {
    std::uint32_t time;
    std::int64_t bytes;
  };
  std::vector<Event> events_;
};

}  // namespace shardwright::operators
