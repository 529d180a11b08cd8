#include "core/operators/instance/cost_instance.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/operators/instance/cost_instance_check.h"
#include "core/status.h"

namespace shardwright::operators {
Result<CostInstance> CostInstance::make(CostInstanceSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check(spec));
  CostInstance instance;
  const std::size_t num_nodes = spec.nodes.size();

  instance.first_strategy_.reserve(num_nodes + 1);
  instance.first_strategy_.push_back(0);
  instance.names_.reserve(num_nodes);
  for (CostInstanceSpec::Node& node : spec.nodes) {
    instance.costs_.insert(instance.costs_.end(), node.costs.begin(), node.costs.end());
    instance.first_strategy_.push_back(static_cast<std::uint32_t>(instance.costs_.size()));
    instance.names_.push_back(std::move(node.name));
  }

  instance.edges_.reserve(spec.edges.size());
  for (const CostInstanceSpec::Edge& edge : spec.edges) {
    instance.edges_.push_back({edge.first, edge.second, edge.matrix});
  }
  instance.matrices_ =
      std::make_shared<const std::vector<CostInstanceSpec::Matrix>>(std::move(spec.matrices));

  // By node; the usages of one node keep their order.
  instance.first_usage_.assign(num_nodes + 1, 0);
  std::size_t num_bytes = 0;
  for (CostInstanceSpec::Usage& usage : spec.usages) {
    usage.live = limited(usage.live, spec.limits.size());
    if (usage.live.empty()) continue;
    ++instance.first_usage_[usage.node + 1];
    num_bytes += usage.bytes.size();
  }
  for (std::size_t n = 0; n < num_nodes; ++n) {
    instance.first_usage_[n + 1] += instance.first_usage_[n];
  }
  std::vector<std::uint32_t> next(instance.first_usage_.begin(), instance.first_usage_.end() - 1);
  instance.usages_.resize(instance.first_usage_.back());
  instance.bytes_.reserve(num_bytes);
  for (const CostInstanceSpec::Usage& usage : spec.usages) {
    if (usage.live.empty()) continue;
    instance.usages_[next[usage.node]++] = {usage.live,
                                            static_cast<std::uint32_t>(instance.bytes_.size())};
    instance.bytes_.insert(instance.bytes_.end(), usage.bytes.begin(), usage.bytes.end());
  }
  instance.limits_ = std::move(spec.limits);
  return instance;
}

CostInstance CostInstance::with_limits(std::vector<std::int64_t> limits) const {
  SHARDWRIGHT_CHECK(limits.size() == limits_.size());
  SHARDWRIGHT_CHECK(
      std::all_of(limits.begin(), limits.end(), [](auto limit) { return limit >= 0; }));
  CostInstance other = *this;
  other.limits_ = std::move(limits);
  return other;
}

std::vector<std::int64_t> held_bytes(const CostInstance& instance,
                                     std::span<const std::uint32_t> choice) {
  std::vector<std::int64_t> held(instance.limits().size() + 1, 0);
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    for (const CostInstance::Usage& usage : instance.usages(n)) {
      const std::int64_t bytes = instance.bytes(usage, choice[n]);
      held[usage.live.begin] += bytes;
      held[usage.live.end] -= bytes;
    }
  }
  held.pop_back();
  for (std::size_t t = 1; t < held.size(); ++t)
    held[t] += held[t - 1];
  return held;
}

CostEvaluation evaluate(const CostInstance& instance, std::span<const std::uint32_t> choice) {
  SHARDWRIGHT_CHECK(choice.size() == instance.num_nodes());
  CostEvaluation evaluation;
  const std::span<const std::int64_t> limits = instance.limits();
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    SHARDWRIGHT_CHECK(choice[n] < instance.num_strategies(n));
    evaluation.node_cost += instance.costs(n)[choice[n]];
  }
  for (const CostInstance::Edge& edge : instance.edges()) {
    evaluation.edge_cost += instance.edge_cost(edge, choice[edge.first], choice[edge.second]);
  }
  const std::vector<std::int64_t> held = held_bytes(instance, choice);
  for (std::size_t t = 0; t < limits.size(); ++t) {
    evaluation.peak_bytes = std::max(evaluation.peak_bytes, held[t]);
    if (held[t] > limits[t] && !evaluation.over_limit_at) {
      evaluation.over_limit_at = static_cast<std::uint32_t>(t);
    }
  }
  return evaluation;
}

}  // namespace shardwright::operators
