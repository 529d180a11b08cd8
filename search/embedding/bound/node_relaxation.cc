#include "search/embedding/bound/node_relaxation.h"

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
  search_.emplace(PlanGoal{target, nullptr, has_rules ? nullptr : &places_, improvement}, space,
                  model.available(), std::vector<RankPriceSet>{std::move(prices)}, most_steps,
                  [this] { return budget_->interrupted().has_value(); });
  budget.spend(parameters_.step_work * (open_cells(rows, domain) + search_->steps()));
}

bool NodeSearch::step(Budget& budget) {
  budget_ = &budget;
  const std::uint64_t before = search_->steps();
  const bool has_ended = search_->run(NodeSearchParameters::kStepsBetweenPauses);
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

void NodeRelaxation::begin(double target, Domain domain, std::uint64_t work,
                           std::optional<std::uint64_t> search_steps) {
  if (target > target_) leaf_steps_ = NodeSearchParameters::kLeafSteps;
  target_ = target;
  work_ = work;
  search_steps_ = search_steps;
  was_searched_ = false;
  domain_ = std::move(domain);
}

void NodeRelaxation::abandon() {
  columns_.abandon();
  search_.reset();
  stuck_.reset();
  domain_.reset();
}

std::optional<NodeAnswer> NodeRelaxation::step(Budget& budget) {
  std::optional<NodeAnswer> known;
  if (search_) {
    known = search(budget);
  } else if (columns_.is_active()) {
    if (std::optional<RelaxationAnswer> found = columns_.iterate(budget))
      known = answer(*std::move(found), budget);
  } else {
    known = reduce(budget);
    was_searched_ = !known && search_steps_.value_or(0) > 0;
    if (!known && !(was_searched_ && begin_search(*search_steps_, budget)))
      columns_.begin(target_, *domain_, work_);
  }
  return known ? std::optional(end(*std::move(known))) : std::nullopt;
}

NodeAnswer NodeRelaxation::end(NodeAnswer answer) {
  answer.proof.fixing = std::move(fixing_);
  answer.was_searched = was_searched_;
  answered_ = std::move(*domain_);
  domain_.reset();
  return answer;
}

std::optional<NodeAnswer> NodeRelaxation::reduce(Budget& budget) {
  DomainReduction found = reduce_domain(*rows_, target_, *domain_, parameters_->aggregate, budget);
  fixing_ = std::move(found.fixing);
  NodeAnswer answer;
  if (found.excluded) {
    answer.kind = NodeAnswer::Kind::kExcluded;
    answer.proof.multipliers = std::move(found.multipliers);
    return answer;
  }
  if (!search_steps_ || found.plan.shares.empty()) return std::nullopt;
  std::optional<Branch> branch =
      branching_->choose_large(*domain_, rows_->kinds().groups(*domain_), found.plan, target_,
                               BranchingParameters::kLargeSeparation);
  if (!branch) return std::nullopt;
  answer.kind = NodeAnswer::Kind::kDivided;
  answer.branch = std::move(*branch);
  answer.plan = std::move(found.plan);
  return answer;
}

// Returns false if the node is too large, there are placement rules, or the method is off.
bool NodeRelaxation::begin_search(std::uint64_t most_steps, Budget& budget) {
  if (!parameters_->methods.node_search || rows_->model().pool().space().problem().rules().any())
    return false;
  if (open_cells(*rows_, *domain_) > NodeSearchParameters::kMostCells) return false;
  search_.emplace(*rows_, target_, *domain_, fixing_, most_steps, 0, *parameters_, budget);
  return true;
}

// If the search decides nothing, column generation follows. If column generation came before, the
// next node without a branch gets fewer search steps.
std::optional<NodeAnswer> NodeRelaxation::search(Budget& budget) {
  if (!search_->step(budget)) return std::nullopt;
  SearchedNode node = search_->take_answer();
  search_.reset();
  std::optional<NodeAnswer> stuck = std::exchange(stuck_, std::nullopt);
  if (node.kind == SearchedNode::Kind::kUnknown) {
    if (!stuck) {
      columns_.begin(target_, *domain_, work_);
    } else {
      leaf_steps_ = std::max(leaf_steps_ / 2, NodeSearchParameters::kLeastLeafSteps);
    }
    return stuck;
  }
  NodeAnswer answer;
  answer.found = std::move(node.found);
  if (answer.found) return answer;
  answer.kind = NodeAnswer::Kind::kExcluded;
  answer.proof = std::move(node.leaf);
  answer.search_steps = node.steps;
  return answer;
}

// Returns the answer after column generation, or nothing if a search of all plans follows.
std::optional<NodeAnswer> NodeRelaxation::answer(RelaxationAnswer found, Budget& budget) {
  NodeAnswer answer;
  answer.plan = std::move(found.plan);
  answer.was_cut_short = found.kind == RelaxationAnswer::Kind::kUnknown;
  if (found.kind == RelaxationAnswer::Kind::kInfeasible) {
    answer.kind = NodeAnswer::Kind::kExcluded;
    answer.proof = std::move(found.leaf);
    return answer;
  }
  if (answer.plan.shares.empty()) return answer;
  std::optional<Branch> branch =
      branching_->choose(*domain_, columns_.groups(), answer.plan, target_);
  if (!branch) {
    if (!search_steps_ || !begin_search(leaf_steps_, budget)) return answer;
    stuck_ = std::move(answer);
    return std::nullopt;
  }
  answer.kind = NodeAnswer::Kind::kDivided;
  answer.branch = std::move(*branch);
  return answer;
}

}  // namespace shardwright::embedding
