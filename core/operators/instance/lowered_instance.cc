// Merges nodes that take the same strategy.
#include "core/operators/instance/lowered_instance.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/status.h"

namespace shardwright::operators {
namespace {

// The end of every chain of leaders.
Result<std::vector<std::uint32_t>> resolve(std::span<const std::uint32_t> leaders) {
  std::vector<std::uint32_t> roots(leaders.begin(), leaders.end());
  for (std::size_t n = 0; n < roots.size(); ++n) {
    std::uint32_t root = roots[n];
    for (std::size_t steps = 0; leaders[root] != root; root = leaders[root]) {
      if (++steps > leaders.size()) {
        return invalid_input("/nodes/" + std::to_string(n),
                             "the nodes that it follows form a cycle");
      }
    }
    roots[n] = root;
  }
  return roots;
}

Status check_sizes(const CostInstanceSpec& spec, std::span<const std::uint32_t> roots) {
  for (std::size_t n = 0; n < roots.size(); ++n) {
    const std::size_t own = spec.nodes[n].costs.size();
    const std::size_t leading = spec.nodes[roots[n]].costs.size();
    if (own == leading) continue;
    return invalid_input("/nodes/" + std::to_string(n),
                         "has " + std::to_string(own) + " strategies, but node " +
                             std::to_string(roots[n]) + ", whose strategy it takes, has " +
                             std::to_string(leading));
  }
  return {};
}

// By node, its number among the roots.
std::vector<std::uint32_t> number_roots(std::span<const std::uint32_t> roots) {
  std::vector<std::uint32_t> numbers(roots.size());
  std::uint32_t next = 0;
  for (std::size_t n = 0; n < roots.size(); ++n) {
    if (roots[n] == n) numbers[n] = next++;
  }
  for (std::size_t n = 0; n < roots.size(); ++n) {
    numbers[n] = numbers[roots[n]];
  }
  return numbers;
}

CostInstanceSpec merge(CostInstanceSpec spec, std::span<const std::uint32_t> roots,
                       std::span<const std::uint32_t> variables) {
  CostInstanceSpec merged;
  for (std::size_t n = 0; n < roots.size(); ++n) {
    if (roots[n] == n) merged.nodes.push_back(std::move(spec.nodes[n]));
  }
  const auto add = [&](std::uint32_t variable, std::size_t s, double cost) {
    merged.nodes[variable].costs[s] += cost;
  };
  for (std::size_t n = 0; n < roots.size(); ++n) {
    if (roots[n] == n) continue;
    for (std::size_t s = 0; s < spec.nodes[n].costs.size(); ++s) {
      add(variables[n], s, spec.nodes[n].costs[s]);
    }
  }
  for (const CostInstanceSpec::Edge& edge : spec.edges) {
    const std::uint32_t first = variables[edge.first];
    const std::uint32_t second = variables[edge.second];
    if (first != second) {
      merged.edges.push_back({first, second, edge.matrix});
      continue;
    }
    const CostInstanceSpec::Matrix& matrix = spec.matrices[edge.matrix];
    for (std::uint32_t s = 0; s < matrix.rows; ++s) {
      add(first, s, matrix.entries[std::size_t{s} * matrix.columns + s]);
    }
  }
  merged.matrices = std::move(spec.matrices);
  merged.usages = std::move(spec.usages);
  for (CostInstanceSpec::Usage& usage : merged.usages)
    usage.node = variables[usage.node];
  merged.limits = std::move(spec.limits);
  return merged;
}

}  // namespace

LoweredInstance::LoweredInstance(CostInstance graph)
    : graph_(std::make_shared<const CostInstance>(std::move(graph))),
      instance_(graph_),
      variables_(graph_->num_nodes()) {
  std::iota(variables_.begin(), variables_.end(), 0U);
}

Result<LoweredInstance> LoweredInstance::make(CostInstance graph, CostInstanceSpec spec,
                                              std::span<const std::uint32_t> leaders) {
  SHARDWRIGHT_CHECK(leaders.size() == spec.nodes.size() && graph.num_nodes() <= leaders.size());
  SHARDWRIGHT_CHECK(
      std::all_of(leaders.begin(), leaders.end(), [&](auto n) { return n < leaders.size(); }));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> roots, resolve(leaders));
  SHARDWRIGHT_RETURN_IF_ERROR(check_sizes(spec, roots));
  LoweredInstance lowered;
  lowered.variables_ = number_roots(roots);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      CostInstance instance, CostInstance::make(merge(std::move(spec), roots, lowered.variables_)));
  lowered.variables_.resize(graph.num_nodes());
  lowered.graph_ = std::make_shared<const CostInstance>(std::move(graph));
  lowered.instance_ = std::make_shared<const CostInstance>(std::move(instance));
  return lowered;
}

std::vector<std::uint32_t> LoweredInstance::operator_choice(
    std::span<const std::uint32_t> choice) const {
  SHARDWRIGHT_CHECK(choice.size() == instance_->num_nodes());
  std::vector<std::uint32_t> by_operator;
  by_operator.reserve(variables_.size());
  for (const std::uint32_t variable : variables_)
    by_operator.push_back(choice[variable]);
  return by_operator;
}

}  // namespace shardwright::operators
