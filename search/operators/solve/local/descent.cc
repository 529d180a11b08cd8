#include "search/operators/solve/local/descent.h"

#include <algorithm>
#include <cstddef>

#include "search/operators/solve/graph/usage_profile.h"

namespace shardwright::operators {
namespace {

// Thread safety: none.
class Descent {
 public:
  Descent(const ChoiceGraph& graph, std::vector<std::uint32_t>& choice)
      : graph_(graph), choice_(choice), profile_(graph.limits()) {
    for (std::uint32_t n = 0; n < choice.size(); ++n)
      hold(n, choice[n], 1);
  }

  // Returns what was gained.
  double pass(Budget& budget) {
    double gain = 0;
    std::uint64_t work = 0;
    for (std::uint32_t n = 0; n < choice_.size(); ++n) {
      gain += improve(n);
      work += graph_.num_strategies(n) * (graph_.arcs(n).size() + 1);
    }
    budget.spend(work);
    return gain;
  }

 private:
  void hold(std::uint32_t n, std::uint32_t s, std::int64_t sign) {
    for (const ChoiceGraph::Usage& usage : graph_.usages(n)) {
      profile_.add(usage.begin, usage.end, sign * graph_.bytes(usage)[s]);
    }
  }

  // Only where the node holds bytes can it have exceeded a limit.
  bool within_limits(std::uint32_t n) const {
    const auto usages = graph_.usages(n);
    return std::all_of(usages.begin(), usages.end(), [&](const ChoiceGraph::Usage& usage) {
      return profile_.max_excess(usage.begin, usage.end) <= 0;
    });
  }

  double improve(std::uint32_t n) {
    const auto own = graph_.costs(n);
    costs_.assign(own.begin(), own.end());
    for (const ChoiceGraph::Arc& arc : graph_.arcs(n)) {
      const double* row = graph_.row(n, arc, choice_[arc.node]);
      for (std::size_t s = 0; s < costs_.size(); ++s)
        costs_[s] += row[s];
    }
    const std::uint32_t before = choice_[n];
    order_.clear();
    for (std::uint32_t s = 0; s < costs_.size(); ++s) {
      if (costs_[s] < costs_[before]) order_.push_back(s);
    }
    if (order_.empty()) return 0;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return costs_[a] < costs_[b]; });
    hold(n, before, -1);
    for (const std::uint32_t s : order_) {
      hold(n, s, 1);
      if (within_limits(n)) {
        choice_[n] = s;
        return costs_[before] - costs_[s];
      }
      hold(n, s, -1);
    }
    hold(n, before, 1);
    return 0;
  }

  const ChoiceGraph& graph_;
  std::vector<std::uint32_t>& choice_;
  UsageProfile profile_;
  std::vector<double> costs_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

void descend(const ChoiceGraph& graph, std::vector<std::uint32_t>& choice, Budget& budget,
             const DescentParameters& parameters) {
  Descent descent(graph, choice);
  double first = 0;
  for (int pass = 0; pass < parameters.most_passes; ++pass) {
    if (!budget.work_left() || budget.interrupted()) return;
    const double gain = descent.pass(budget);
    if (pass == 0) first = gain;
    if (gain <= parameters.least_gain * first) return;
  }
}

}  // namespace shardwright::operators
