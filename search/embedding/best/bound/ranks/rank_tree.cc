#include "search/embedding/best/bound/ranks/rank_tree.h"

#include <algorithm>

#include "core/embedding/bound/search/find_plan.h"
#include "search/embedding/best/bound/ranks/rank_costs.h"

namespace shardwright::embedding {

RankTree::RankTree(const ChoiceModel& model, double target, const MultiplierList& prices,
                   const BoundParameters& parameters, Budget& budget)
    : parameters_(parameters),
      target_(target),
      model_(model, target),
      nodes_(1),
      program_(model_, reduced_root(prices, budget), parameters, budget),
      branching_(model_, program_, parameters.ranks) {}

// The root is the first node to visit.
RankDomain RankTree::reduced_root(const MultiplierList& prices, Budget& budget) {
  RankDomain domain = whole_domain(model_);
  for (const std::vector<CapacityMultipliers>& own : prices) {
    if (!remove_misfits(model_, target_, domain, budget)) break;
    budget.spend(domain.size() * model_.num_ranks());
    RankCosts(model_, own).remove_dear(target_, domain);
    nodes_[0].fixing.push_back(own);
  }
  dive_.push_back({0, domain, {}});
  return domain;
}

std::uint64_t RankTree::open_cells() const {
  const RankDomain& root = dive_.back().domain;
  const auto open =
      std::count_if(root.begin(), root.end(), [](const RankPlaces& own) { return own.may != 0; });
  return static_cast<std::uint64_t>(open) * model_.num_ranks();
}

bool RankTree::is_later(const Open& a, const Open& b) const {
  const double bound_a = nodes_[a.node].bound;
  const double bound_b = nodes_[b.node].bound;
  return bound_a != bound_b ? bound_a > bound_b : a.node > b.node;
}

void RankTree::put_off(Open open) {
  open_.push_back(std::move(open));
  std::push_heap(open_.begin(), open_.end(),
                 [&](const Open& a, const Open& b) { return is_later(a, b); });
}

RankTree::Open RankTree::take_next() {
  std::vector<Open>& from = dive_.empty() ? open_ : dive_;
  if (dive_.empty()) {
    std::pop_heap(open_.begin(), open_.end(),
                  [&](const Open& a, const Open& b) { return is_later(a, b); });
  }
  Open next = std::move(from.back());
  from.pop_back();
  return next;
}

void RankTree::step(Budget& budget) {
  Open next = take_next();
  // The target may have fallen below its bound since it was put off.
  if (nodes_[next.node].bound < target_ * (1 + kBoundRounding) && !is_closed(next, budget)) {
    if (budget.interrupted()) return put_off(std::move(next));
    divide(std::move(next), budget);
  }
}

// Bounds the node, and reduces its domain. Returns true if no plan below the target is left.
bool RankTree::is_closed(Open& open, Budget& budget) {
  Node& node = nodes_[open.node];
  program_.set_basis(open.basis);
  for (std::uint32_t round = 0;; ++round) {
    if (!remove_misfits(model_, target_, open.domain, budget)) {
      if (node.multipliers.empty()) node.multipliers.resize(model_.num_ranks());
      return true;
    }
    if (!is_bounded(open, budget)) return false;
    if (node.bound >= target_ * (1 + kBoundRounding)) return true;
    if (round == parameters_.ranks.max_reductions) break;
    const RankCosts costs(model_, node.multipliers);
    budget.spend(2 * open.domain.size() * model_.num_ranks());
    if (!costs.remove_dear(target_, open.domain)) break;
    node.fixing.push_back(node.multipliers);
  }
  open.basis = program_.basis();
  return false;
}

// Solves the program. Returns false if it has no solution and its multipliers say nothing.
bool RankTree::is_bounded(Open& open, Budget& budget) {
  Node& node = nodes_[open.node];
  Solution own = solve(open.domain, budget);
  if (own.bound > node.bound || node.parent == kNone) {
    node.multipliers = std::move(own.multipliers);
    node.bound = std::max(node.bound, own.bound);
  } else if (node.multipliers.empty()) {
    node.multipliers = nodes_[node.parent].multipliers;
  }
  return own.is_solved || node.bound >= target_;
}

// Without a limit if that ended the solution and the multipliers do not show it.
RankTree::Solution RankTree::solve(const RankDomain& domain, Budget& budget) {
  const double enough = target_ * (1 + kBoundRounding);
  Solution own;
  for (const double limit : {enough, LinearProgram::kInfinity}) {
    program_.set_limit(limit);
    own.is_solved = program_.solve(domain, budget);
    own.multipliers = program_.multipliers();
    own.bound = RankCosts(model_, own.multipliers).bound(domain);
    if (own.is_solved || own.bound >= enough) break;
  }
  return own;
}

std::vector<ClassSet> RankTree::named_ranks(NodeId node) const {
  std::vector<ClassSet> named;
  for (NodeId child = node; nodes_[child].parent != kNone; child = nodes_[child].parent) {
    const Node& parent = nodes_[nodes_[child].parent];
    const RankDivision& own = parent.division;
    if (own.first_child.empty())
      named.push_back(child == parent.first_child ? ClassSet{1} << own.rank : own.orbit);
  }
  return named;
}

void RankTree::divide(Open open, Budget& budget) {
  std::vector<RankCandidate> candidates =
      branching_.candidates(open.domain, named_ranks(open.node));
  budget.spend(open.domain.size() * model_.num_ranks());
  const bool is_whole = program_.is_whole();
  if (is_whole || open.node % parameters_.ranks.nodes_per_plan == 0)
    look_for_plan(open.domain, budget);
  if (nodes_[open.node].bound >= target_) return;  // the target fell below it
  if (candidates.empty()) {
    stuck_.push_back(open.node);
    return;
  }
  Selected choice = choose(open, std::move(candidates), budget);
  const auto first = static_cast<NodeId>(nodes_.size());
  nodes_[open.node].first_child = first;
  nodes_[open.node].division = choice.candidate.division;
  nodes_.resize(nodes_.size() + 2);
  std::array<Open, 2> children{Open{first, open.domain, open.basis},
                               Open{first + 1, std::move(open.domain), std::move(open.basis)}};
  for (const std::size_t child : {0U, 1U}) {
    nodes_[first + child].parent = open.node;
    nodes_[first + child].bound = nodes_[open.node].bound;
    restrict_to_child(model_, choice.candidate.division, child == 0, children[child].domain);
  }
  // The child that gains less is more likely to have a good plan. One that is closed at once comes
  // before it.
  const std::size_t later = choice.gains[0] <= choice.gains[1] ? 1 : 0;
  const double gap = (target_ - nodes_[open.node].bound) / model_.target();
  if (choice.gains[later] >= gap) {
    dive_.push_back(std::move(children[1 - later]));
    dive_.push_back(std::move(children[later]));
  } else {
    put_off(std::move(children[later]));
    dive_.push_back(std::move(children[1 - later]));
  }
}

// Tries some candidates out, until the best one stays so for a while.
RankTree::Selected RankTree::choose(const Open& open, std::vector<RankCandidate> candidates,
                                    Budget& budget) {
  const double gap = (target_ - nodes_[open.node].bound) / model_.target();
  Selected best;
  double best_score = -1;
  std::uint32_t tried = 0;
  std::uint32_t since = 0;
  for (RankCandidate& own : candidates) {
    const bool is_tried = tried < parameters_.ranks.most_tried &&
                          since < parameters_.ranks.look_ahead && !budget.interrupted();
    if (!is_tried && own.estimate <= best_score) continue;
    const std::array<double, 2> gains =
        is_tried ? try_out(open, own, budget) : branching_.gains(own);
    tried += is_tried ? 1 : 0;
    ++since;
    const double score = is_tried ? branching_.score(gains) : own.estimate;
    if (score <= best_score) continue;
    best_score = score;
    since = 0;
    best = {std::move(own), gains};
    if (is_tried && std::max(gains[0], gains[1]) >= gap) break;
  }
  return best;
}

// By how much the children raise the bound, in units of the model's target.
std::array<double, 2> RankTree::try_out(const Open& open, const RankCandidate& candidate,
                                        Budget& budget) {
  const double before = nodes_[open.node].bound;
  const double gap = (target_ - before) / model_.target();
  std::array<double, 2> gains{};
  for (const std::size_t child : {0U, 1U}) {
    RankDomain domain = open.domain;
    restrict_to_child(model_, candidate.division, child == 0, domain);
    gains[child] = gap;
    if (remove_misfits(model_, target_, domain, budget)) {
      program_.set_basis(open.basis);
      const double bound = solve(domain, budget).bound;
      gains[child] = std::clamp((bound - before) / model_.target(), 0.0, gap);
    }
    branching_.learn(candidate, child == 0, gains[child]);
  }
  return gains;
}

// Among the plans that have only what the solution of the program has parts of.
void RankTree::look_for_plan(const RankDomain& domain, Budget& budget) {
  const ChoiceModel& model = model_.model();
  PlaceDomain places;
  places.classes.resize(model.pool().space().size());
  for (std::uint32_t rank = 0; rank < model_.num_ranks(); ++rank)
    places.class_of_rank.push_back(rank);
  for (std::uint32_t c = 0; c < domain.size(); ++c) {
    if (domain[c].may == 0 || program_.share(c) <= 0) continue;
    ClassSet& own = places.classes[model.choices()[c].option.index()];
    const std::vector<double> on = program_.on_ranks(c);
    for (std::uint32_t rank = 0; rank < on.size(); ++rank)
      own |= on[rank] > 0 ? ClassSet{1} << rank : 0;
  }
  const std::vector<CapacityMultipliers> prices = program_.multipliers();
  const double improvement = parameters_.targets.goal_in_gap * parameters_.optimality_gap;
  FoundPlan found = find_plan_below(
      {target_, nullptr, &places, improvement}, model.pool().space(), model.available(),
      {prices_by_rank(prices, places.class_of_rank)}, parameters_.ranks.plan_steps,
      [&] { return budget.interrupted().has_value(); });
  budget.spend(parameters_.search.step_work * (found.steps + domain.size()));
  if (!found.plan) return;
  found_ = std::move(found.plan);
  if (found.below > 0) target_ = std::min(target_, found.below);
}

double RankTree::bound() const {
  double bound = target_;
  for (const Open& open : open_)
    bound = std::min(bound, nodes_[open.node].bound);
  for (const Open& open : dive_)
    bound = std::min(bound, nodes_[open.node].bound);
  for (const NodeId node : stuck_)
    bound = std::min(bound, nodes_[node].bound);
  return bound;
}

BoundNode RankTree::certificate_node(const Node& node) const {
  BoundNode own;
  own.fixing = node.fixing;
  own.is_leaf = node.first_child == kNone;
  if (own.is_leaf) {
    // An open node that was not visited has the bound of its parent.
    own.multipliers = node.multipliers.empty() && node.parent != kNone
                          ? nodes_[node.parent].multipliers
                          : node.multipliers;
    return own;
  }
  const ChoiceModel& model = model_.model();
  own.tables = {model.table(node.division.table)};
  if (node.division.first_child.empty()) {
    own.rank_branch = {node.division.rank, node.division.orbit};
    return own;
  }
  for (const std::uint32_t c : node.division.first_child)
    own.first_child.push_back({model.choices()[c].option, model_.everywhere()});
  return own;
}

BoundCertificate RankTree::certificate() const {
  BoundCertificate certificate;
  certificate.bound = bound() * (1 - kBoundRounding);
  certificate.ranks_apart = true;
  for (std::uint32_t rank = 0; rank < model_.num_ranks(); ++rank)
    certificate.class_of_rank.push_back(rank);
  std::vector<NodeId> next{0};
  while (!next.empty()) {
    const Node& node = nodes_[next.back()];
    next.pop_back();
    certificate.nodes.push_back(certificate_node(node));
    if (node.first_child == kNone) continue;
    next.push_back(node.first_child + 1);
    next.push_back(node.first_child);
  }
  return certificate;
}

}  // namespace shardwright::embedding
