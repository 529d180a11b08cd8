#include "search/embedding/best/bound/relaxation/node_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/embedding/bound/search/find_plan.h"

namespace shardwright::embedding {
namespace {

PlaceDomain place_domain(const BoundRows& rows, const Domain& domain) {
  const ChoiceModel& model = rows.model();
  const RankClasses& classes = rows.classes();
  PlaceDomain places;
  places.class_of_rank = classes.class_of_rank();
  places.classes.resize(model.pool().space().size());
  // Where ranks are alike, a domain says where shards are after ranks were exchanged.
  const ClassSet everywhere = classes.are_alike() ? classes.everywhere() : 0;
  for (std::size_t choice = 0; choice < domain.size(); ++choice) {
    if (const ClassSet own = domain[choice]; own != 0)
      places.classes[model.choices()[choice].option.index()] = own | everywhere;
  }
  return places;
}

}  // namespace

std::uint64_t open_cells(const BoundRows& rows, const Domain& domain) {
  const auto num_open = static_cast<std::uint64_t>(
      std::count_if(domain.begin(), domain.end(), [](ClassSet classes) { return classes != 0; }));
  return num_open * rows.model().world_size();
}

SearchedNode search_node(const BoundRows& rows, double target, const Domain& domain,
                         const MultiplierList& fixing, std::uint64_t most_steps, double improvement,
                         const NodeSearchParameters& parameters, Budget& budget) {
  const ChoiceModel& model = rows.model();
  const SearchSpace& space = model.pool().space();
  SearchedNode node;
  if (space.problem().rules().any()) return node;
  const PlaceDomain places = place_domain(rows, domain);
  node.leaf.by_search = true;
  node.leaf.multipliers.resize(rows.classes().size());
  if (!fixing.empty()) node.leaf.multipliers = fixing.back();
  RankPriceSet prices = prices_by_rank(node.leaf.multipliers, places.class_of_rank);
  FoundPlan tried = find_plan_below({target, nullptr, &places, improvement}, space,
                                    model.available(), {std::move(prices)}, most_steps,
                                    [&] { return budget.interrupted().has_value(); });
  budget.spend(parameters.step_work * (open_cells(rows, domain) + tried.steps));
  node.steps = tried.steps;
  node.below = tried.below;
  if (tried.answer == FoundPlan::Answer::kNoneExists) node.kind = SearchedNode::Kind::kExcluded;
  if (tried.answer == FoundPlan::Answer::kFound) node.kind = SearchedNode::Kind::kFound;
  node.found = std::move(tried.plan);
  return node;
}

}  // namespace shardwright::embedding
