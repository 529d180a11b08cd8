#include "search/operators/solve/local/block/block_excess.h"

#include <algorithm>
#include <cstddef>

namespace shardwright::operators {

Excess ExcessFinder::largest(const SearchState& state, std::span<const ChoiceChange> changes) {
  const ChoiceGraph& graph = state.graph;
  events_.clear();
  for (const ChoiceChange& change : changes) {
    for (const ChoiceGraph::Usage& usage : graph.usages(change.node)) {
      const std::int64_t* bytes = graph.bytes(usage);
      const std::int64_t more = bytes[change.strategy] - bytes[state.choice[change.node]];
      if (more == 0) continue;
      events_.push_back({usage.begin, more});
      events_.push_back({usage.end, -more});
    }
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.time < b.time; });
  Excess worst;
  std::int64_t more = 0;
  for (std::size_t i = 0; i < events_.size();) {
    const std::uint32_t time = events_[i].time;
    for (; i < events_.size() && events_[i].time == time; ++i)
      more += events_[i].bytes;
    if (more <= 0 || i == events_.size()) continue;
    const std::int64_t bytes = state.profile.max_excess(time, events_[i].time) + more;
    if (bytes > worst.bytes) worst = {bytes, time, events_[i].time, more};
  }
  return worst;
}

}  // namespace shardwright::operators
