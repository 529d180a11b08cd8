#include <functional>
#include <optional>
#include <utility>

#include "runtime/capi/objects.h"

namespace shardwright::capi {
namespace {

using embedding::SearchSpace;
using embedding::ShardingOption;

// Returns the index of `option` in the space; nullopt if it is not in the space.
std::optional<std::uint32_t> number_in(const SearchSpace& space, const ShardingOption* option) {
  const ShardingOption* first = space.options().data();
  const std::less<const ShardingOption*> before;
  if (before(option, first) || !before(option, first + space.size())) return std::nullopt;
  return static_cast<std::uint32_t>(option - first);
}

// Returns the space plus `added`, the options of the plan that a proposer made. The result shares
// ownership of the plan, which keeps their layouts alive.
std::shared_ptr<const SearchSpace> extended(const SearchSpace& space,
                                            const std::vector<const ShardingOption*>& added,
                                            const embedding::Plan& plan) {
  std::vector<ShardingOption> options(space.options().begin(), space.options().end());
  for (const ShardingOption* option : added)
    options.push_back(*option);
  const std::shared_ptr<const embedding::ShardLayoutInterner> keep_alive(plan.owner(), nullptr);
  return SearchSpace::make(space.shared_problem(), keep_alive, std::move(options));
}

}  // namespace

std::shared_ptr<const PlannedResult> number_options(
    std::shared_ptr<const EmbeddingPlanResult> shared, std::shared_ptr<const PlanDocument> old) {
  const EmbeddingPlanResult& result = *shared;
  auto planned = std::make_shared<PlannedResult>(std::move(shared));
  planned->old = std::move(old);
  planned->space = result.search_space;
  std::vector<const ShardingOption*> added;
  for (std::size_t i = 0; result.plan && i < result.plan->size(); ++i) {
    const ShardingOption* option = (*result.plan)[i].option;
    std::optional<std::uint32_t> number = number_in(*planned->space, option);
    if (!number) {
      number = static_cast<std::uint32_t>(planned->space->size() + added.size());
      added.push_back(option);
    }
    planned->options.push_back(*number);
    planned->num_shards += option->num_shards();
  }
  if (!added.empty()) planned->space = extended(*planned->space, added, *result.plan);
  return planned;
}

}  // namespace shardwright::capi
