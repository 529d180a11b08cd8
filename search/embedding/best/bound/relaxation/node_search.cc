#include "search/embedding/best/bound/relaxation/node_search.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardwright::embedding {
namespace {

PlaceDomain place_domain(const BoundRows& rows, const Domain& domain) {
  const ChoiceModel& model = rows.model();
  const RankClasses& classes = rows.classes();
  PlaceDomain places;
  places.class_of_rank = classes.class_of_rank();
  places.classes.resize(model.pool().space().size());
  for (std::size_t choice = 0; choice < domain.size(); ++choice) {
    if (const ClassSet own = domain[choice]; own != 0)
      places.classes[model.choices()[choice].option.index()] = own;
  }
  return places;
}

}  // namespace

std::uint64_t open_cells(const BoundRows& rows, const Domain& domain) {
  const auto num_open = static_cast<std::uint64_t>(
      std::count_if(domain.begin(), domain.end(), [](ClassSet classes) { return classes != 0; }));
  return num_open * rows.model().world_size();
}

NodeSearch::NodeSearch(const BoundRows& rows, double target, const Domain& domain,
                       const MultiplierList& fixing, std::uint64_t most_steps, double improvement,
                       const BoundParameters& parameters, Budget& budget)
    : parameters_(parameters.search) {
  const ChoiceModel& model = rows.model();
  const SearchSpace& space = model.pool().space();
  const bool has_rules = space.problem().rules().any();
  if (!has_rules) places_ = place_domain(rows, domain);
  node_.leaf.by_search = true;
  node_.leaf.multipliers.resize(rows.classes().size());
  if (!fixing.empty()) node_.leaf.multipliers = fixing.back();
  RankPriceSet prices = prices_by_rank(node_.leaf.multipliers, rows.classes().class_of_rank());
  budget_ = &budget;
  search_.emplace(PlanGoal{target, nullptr, has_rules ? nullptr : &places_, improvement,
                           parameters.methods.filling},
                  space, model.available(), std::vector<RankPriceSet>{std::move(prices)},
                  most_steps, [this] { return budget_->interrupted().has_value(); });
  budget.spend(parameters_.step_work * (open_cells(rows, domain) + search_->steps()));
}

bool NodeSearch::step(Budget& budget) {
  budget_ = &budget;
  const std::uint64_t before = search_->steps();
  const bool has_ended = search_->run(parameters_.steps_between_pauses);
  budget.spend(parameters_.step_work * (search_->steps() - before));
  return has_ended;
}

SearchedNode NodeSearch::take_answer() {
  FoundPlan tried = search_->take_answer();
  node_.steps = tried.steps;
  node_.below = tried.below;
  if (tried.answer == FoundPlan::Answer::kNoneExists) node_.kind = SearchedNode::Kind::kExcluded;
  if (tried.answer == FoundPlan::Answer::kFound) node_.kind = SearchedNode::Kind::kFound;
  node_.found = std::move(tried.plan);
  return std::move(node_);
}

}  // namespace shardwright::embedding
