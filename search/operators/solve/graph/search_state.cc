#include "search/operators/solve/graph/search_state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace shardwright::operators {

SearchState::SearchState(const ChoiceGraph& g)
    : graph(g),
      choice(g.num_nodes(), 0),
      profile(g.limits()),
      prices(g.limits().size(), 0.0),
      priced(g.num_strategies()) {
  update_priced();
}

void SearchState::set_choice(std::span<const std::uint32_t> new_choice) {
  choice.assign(new_choice.begin(), new_choice.end());
  profile = UsageProfile(graph.limits());
  for (std::size_t n = 0; n < choice.size(); ++n) {
    for (const ChoiceGraph::Usage& usage : graph.usages(n)) {
      profile.add(usage.begin, usage.end, graph.bytes(usage)[choice[n]]);
    }
  }
}

void SearchState::change(std::uint32_t node, std::uint32_t strategy) {
  for (const ChoiceGraph::Usage& usage : graph.usages(node)) {
    const std::int64_t* bytes = graph.bytes(usage);
    profile.add(usage.begin, usage.end, bytes[strategy] - bytes[choice[node]]);
  }
  choice[node] = strategy;
}

void SearchState::update_priced() {
  std::vector<double> before(prices.size() + 1, 0.0);
  for (std::size_t t = 0; t < prices.size(); ++t)
    before[t + 1] = before[t] + prices[t];
  for (std::size_t n = 0; n < graph.num_nodes(); ++n) {
    double* column = priced.data() + graph.first_strategy(n);
    const std::span<const double> costs = graph.costs(n);
    std::copy(costs.begin(), costs.end(), column);
    for (const ChoiceGraph::Usage& usage : graph.usages(n)) {
      const double price = before[usage.end] - before[usage.begin];
      if (price <= 0) continue;
      const std::int64_t* bytes = graph.bytes(usage);
      for (std::size_t s = 0; s < costs.size(); ++s) {
        column[s] += price * static_cast<double>(bytes[s]);
      }
    }
  }
}

std::vector<std::int64_t> SearchState::excess() const {
  const auto limits = graph.limits();
  std::vector<std::int64_t> result(limits.size() + 1, 0);
  for (std::size_t n = 0; n < graph.num_nodes(); ++n) {
    for (const ChoiceGraph::Usage& usage : graph.usages(n)) {
      const std::int64_t bytes = graph.bytes(usage)[choice[n]];
      result[usage.begin] += bytes;
      result[usage.end] -= bytes;
    }
  }
  result.pop_back();
  std::partial_sum(result.begin(), result.end(), result.begin());
  for (std::size_t t = 0; t < limits.size(); ++t)
    result[t] -= limits[t];
  return result;
}

}  // namespace shardwright::operators
