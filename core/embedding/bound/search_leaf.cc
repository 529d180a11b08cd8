// Leaves by search: all plans of the node are tried again.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/bound/leaf_check.h"
#include "core/embedding/bound/search/find_plan.h"

namespace shardwright::embedding {
namespace {

PlaceDomain domain_of(const OpenOptions& options) {
  PlaceDomain domain;
  domain.classes.resize(options.space().size());
  for (std::size_t table = 0; table < options.num_tables(); ++table) {
    for (const OpenOption& open : options.of_table(table))
      domain.classes[open.option.index()] = open.classes;
  }
  for (Rank rank = 0; rank < options.topology().world_size(); ++rank)
    domain.class_of_rank.push_back(options.classes().class_of(rank));
  return domain;
}

}  // namespace

std::optional<std::string> check_search_leaf(const OpenOptions& options, const BoundNode& leaf,
                                             double target, std::uint64_t& most_steps,
                                             const std::function<bool()>& is_stopped) {
  if (options.space().problem().rules().any())
    return "a leaf is proved by search although there are placement rules";
  if (options.classes().uniform_apart())
    return "a leaf is proved by search although uniform options are apart";
  const PlaceDomain domain = domain_of(options);
  RankPriceSet prices = prices_by_rank(leaf.multipliers, domain.class_of_rank);
  const FoundPlan found =
      find_plan_below({target, nullptr, &domain}, options.space(), options.topology(),
                      {std::move(prices)}, most_steps, is_stopped);
  most_steps -= std::min(most_steps, found.steps);
  switch (found.answer) {
    case FoundPlan::Answer::kNoneExists:
      return std::nullopt;
    case FoundPlan::Answer::kFound:
      return "there is a plan below the bound in a leaf";
    case FoundPlan::Answer::kTooLarge:
      return "a leaf is too large to try all its plans";
    case FoundPlan::Answer::kGivenUp:
      break;
  }
  return std::string(kProofTooLong);
}

}  // namespace shardwright::embedding
