// Where a block's changes exceed memory, and prices against it.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "search/operators/solve/local/block_solver.h"

namespace shardwright::operators {

// Over the changes; the range of equal excess where it is worst.
std::int64_t BlockSolver::worst_excess(const SearchState& state, std::uint32_t* begin,
                                       std::uint32_t* end, std::int64_t* more_there) {
  events_.clear();
  for (const Change& change : changed_) {
    for (const ChoiceGraph::Usage& usage : graph_.usages(change.node)) {
      const std::int64_t* bytes = graph_.bytes(usage);
      const std::int64_t more = bytes[change.strategy] - bytes[state.choice[change.node]];
      if (more == 0) continue;
      events_.push_back({usage.begin, more});
      events_.push_back({usage.end, -more});
    }
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.time < b.time; });
  std::int64_t worst = 0, more = 0;
  for (std::size_t i = 0; i < events_.size();) {
    const std::uint32_t time = events_[i].time;
    for (; i < events_.size() && events_[i].time == time; ++i)
      more += events_[i].bytes;
    if (more <= 0 || i == events_.size()) continue;
    const std::int64_t excess = state.profile.max_excess(time, events_[i].time) + more;
    if (excess > worst) {
      worst = excess;
      *begin = time;
      *end = events_[i].time;
      *more_there = more;
    }
  }
  return worst;
}

void BlockSolver::raise_prices(std::uint32_t begin, std::uint32_t end, double price) {
  for (const std::uint32_t v : sequence_) {
    const Variable& variable = variables_[v];
    for (const ChoiceGraph::Usage& usage : graph_.usages(variable.node)) {
      if (usage.begin > begin || usage.end < end) continue;
      const std::int64_t* bytes = graph_.bytes(usage);
      for (std::uint32_t i = 0; i < variable.size; ++i) {
        base_[variable.first + i] +=
            price * static_cast<double>(bytes[strategy_[variable.first + i]]);
      }
    }
  }
}

}  // namespace shardwright::operators
