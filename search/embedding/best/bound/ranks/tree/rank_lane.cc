#include "search/embedding/best/bound/ranks/tree/rank_lane.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/best/bound/ranks/rank_costs.h"
#include "search/embedding/best/bound/relaxation/aggregate_bound.h"

namespace shardwright::embedding {
namespace {

// What is open in a child, as far as its division says.
DividedRankNode child_of(const RankModel& model, const OpenRankNode& open) {
  DividedRankNode child = *open.parent;
  if (!open.place.parent) return child;
  const RankDivision division = std::exchange(child.division, {});
  restrict_to_child(model, division, open.place.is_first_child, child.domain);
  if (division.first_child.empty()) {
    child.named.push_back(open.place.is_first_child ? ClassSet{1} << division.rank
                                                    : division.orbit);
  }
  return child;
}

// In how many ways tables can be placed, as a power of two, each shard of an option alike.
double open_bits(const RankModel& model, const RankDomain& domain) {
  double bits = 0;
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    int ways = 0;
    for (std::uint32_t c = model.first_choice(table); c < model.end_choice(table); ++c) {
      const bool is_one = model.choices()[c].reach == Reach::kAllRanks && domain[c].may != 0;
      ways += is_one ? 1 : std::popcount(domain[c].may);
    }
    bits += std::log2(std::max(1, ways));
  }
  return bits;
}

PlaceDomain no_places(const RankModel& model) {
  PlaceDomain places;
  places.classes.resize(model.model().pool().space().size());
  for (std::uint32_t rank = 0; rank < model.num_ranks(); ++rank)
    places.class_of_rank.push_back(rank);
  return places;
}

}  // namespace

RankLane::RankLane(std::uint32_t index, const RankModel& model, const RankProgram& program,
                   const RankExperience& known, const BoundParameters& parameters)
    : index_(index),
      model_(model),
      parameters_(parameters),
      target_(model.target()),
      program_(program.copy()),
      branching_(model, program_, known, parameters.ranks),
      stuck_bound_(std::numeric_limits<double>::infinity()),
      searched_bits_(parameters.ranks.first_searched_bits) {}

void RankLane::add(OpenRankNode open) {
  open_.push_back(std::move(open));
  std::push_heap(open_.begin(), open_.end(), is_later);
}

OpenRankNode RankLane::take_next() {
  std::vector<OpenRankNode>& from = dive_.empty() ? open_ : dive_;
  if (dive_.empty()) std::pop_heap(open_.begin(), open_.end(), is_later);
  OpenRankNode next = std::move(from.back());
  from.pop_back();
  return next;
}

std::vector<OpenRankNode> RankLane::take_open() {
  std::move(dive_.begin(), dive_.end(), std::back_inserter(open_));
  dive_.clear();
  return std::exchange(open_, {});
}

void RankLane::run(double target, std::uint64_t work, std::size_t most_nodes, Budget& budget) {
  target_ = target;
  const std::uint64_t end = budget.work_done() + work;
  const std::size_t last = nodes_.size() + most_nodes;
  while (!is_idle() && budget.work_done() < end && nodes_.size() < last && !budget.interrupted())
    visit(take_next(), budget);
}

double RankLane::enough() const { return target_ * (1 + kBoundRounding); }

void RankLane::visit(const OpenRankNode& open, Budget& budget) {
  // The target may have fallen below its bound since it was put off: its parent closes it.
  if (open.bound >= enough()) {
    closed_part_ += open.part;
    return;
  }
  Visit at;
  at.node.id = {index_, static_cast<std::uint32_t>(nodes_.size())};
  at.node.place = open.place;
  at.node.bound = open.bound;
  at.part = open.part;
  at.left = child_of(model_, open);
  if (!is_closed(at, budget) && !is_excluded(at, budget)) divide(at, budget);
  if (!at.node.division && at.node.bound >= target_) closed_part_ += at.part;
  check_steps_ += at.node.all_check_steps();
  nodes_.push_back(std::move(at.node));
}

// Bounds the node, and reduces its domain. Returns true if no plan below the target is left.
bool RankLane::is_closed(Visit& at, Budget& budget) {
  program_.set_basis(at.left.basis);
  for (std::uint32_t round = 0;; ++round) {
    if (!remove_counted(at, budget)) {
      at.node.bound = target_;
      if (at.node.multipliers.empty()) at.node.multipliers.resize(model_.num_ranks());
      return true;
    }
    if (!is_bounded(at, budget)) return false;
    if (at.node.bound >= enough()) return true;
    if (round == parameters_.ranks.max_reductions) break;
    const RankCosts costs(model_, at.multipliers);
    budget.spend(2 * at.left.domain.size() * model_.num_ranks());
    if (!costs.remove_dear(target_, at.left.domain)) break;
    at.node.fixing.push_back(at.multipliers);
  }
  at.left.basis = program_.basis();
  return false;
}

// Of the check of a certificate.
std::uint64_t RankLane::walk_of(const RankDomain& domain) const {
  const auto open = std::count_if(domain.begin(), domain.end(),
                                  [](const RankPlaces& own) { return own.may != 0; });
  return steps_of_walk(static_cast<std::size_t>(open), model_.num_tables(), model_.num_ranks());
}

// The check of a certificate takes as many rounds, and one for the multipliers before or the leaf.
bool RankLane::remove_counted(Visit& at, Budget& budget) const {
  const std::uint64_t walk = walk_of(at.left.domain);
  const std::uint64_t before = budget.work_done();
  const bool is_possible = remove_misfits(model_, target_, at.left.domain, budget);
  at.node.check_steps += walk * (1 + (budget.work_done() - before) / at.left.domain.size());
  return is_possible;
}

// Solves the program. Returns false if it has no solution and its multipliers say nothing.
bool RankLane::is_bounded(Visit& at, Budget& budget) {
  Solution own = solve(at.left.domain, budget);
  at.multipliers = std::move(own.multipliers);
  if (own.bound > at.node.bound || !at.node.place.parent) {
    at.node.multipliers = at.multipliers;
    at.node.bound = std::max(at.node.bound, own.bound);
  }
  return own.is_solved || at.node.bound >= target_;
}

// Without a limit if that ended the solution and the multipliers do not show it.
RankLane::Solution RankLane::solve(const RankDomain& domain, Budget& budget) {
  Solution own;
  for (const double limit : {enough(), LinearProgram::kInfinity}) {
    program_.set_limit(limit);
    own.is_solved = program_.solve(domain, budget);
    own.multipliers = program_.multipliers();
    own.bound = RankCosts(model_, own.multipliers).bound(domain);
    if (own.is_solved || own.bound >= enough()) break;
  }
  return own;
}

// One that nothing divides stays open, and so does one that a stop interrupts.
void RankLane::divide(Visit& at, Budget& budget) {
  std::vector<RankCandidate> candidates;
  if (!budget.interrupted()) {
    candidates = branching_.candidates(at.left.domain, at.left.named);
    budget.spend(at.left.domain.size() * model_.num_ranks());
    if (program_.is_whole() || nodes_.size() % parameters_.ranks.nodes_per_plan == 0)
      look_for_plan(at.left.domain, budget);
    if (at.node.bound >= target_) return;  // the target fell below it
  }
  if (candidates.empty()) {
    stuck_bound_ = std::min(stuck_bound_, at.node.bound);
    return;
  }
  Selected choice = choose(at, std::move(candidates), budget);
  at.left.division = choice.candidate.division;
  at.node.division = std::move(choice.candidate.division);
  add_children(at.node, at.part, std::move(at.left), choice.gains);
}

// The child that gains less is more likely to have a good plan. One that is closed at once comes
// before it.
void RankLane::add_children(const RankNode& node, double part, DividedRankNode left,
                            const std::array<double, 2>& gains) {
  const auto parent = std::make_shared<const DividedRankNode>(std::move(left));
  const auto child = [&](bool is_first) {
    return OpenRankNode{{node.id, is_first}, node.bound, part / 2, parent};
  };
  const bool is_second_later = gains[0] <= gains[1];
  if (std::max(gains[0], gains[1]) >= gap(node.bound)) {
    dive_.push_back(child(is_second_later));
    dive_.push_back(child(!is_second_later));
  } else {
    add(child(!is_second_later));
    dive_.push_back(child(is_second_later));
  }
}

// Tries some candidates out, until the best one stays so for a while. What a division gains that
// was tried often is known.
RankLane::Selected RankLane::choose(const Visit& at, std::vector<RankCandidate> candidates,
                                    Budget& budget) {
  Selected best;
  double best_score = -1;
  std::uint32_t tried = 0;
  std::uint32_t since = 0;
  for (RankCandidate& own : candidates) {
    const bool is_tried = tried < parameters_.ranks.most_tried &&
                          since < parameters_.ranks.look_ahead && !branching_.is_reliable(own) &&
                          !budget.interrupted();
    if (!is_tried && own.estimate <= best_score) continue;
    const std::array<double, 2> gains = is_tried ? try_out(at, own, budget) : branching_.gains(own);
    tried += is_tried ? 1 : 0;
    ++since;
    const double score = is_tried ? branching_.score(gains) : own.estimate;
    if (score <= best_score) continue;
    best_score = score;
    since = 0;
    best = {std::move(own), gains};
    if (is_tried && std::max(gains[0], gains[1]) >= gap(at.node.bound)) break;
  }
  return best;
}

// By how much the children raise the bound, in units of the model's target.
std::array<double, 2> RankLane::try_out(const Visit& at, const RankCandidate& candidate,
                                        Budget& budget) {
  const double most = gap(at.node.bound);
  std::array<double, 2> gains{};
  for (const std::size_t child : {0U, 1U}) {
    RankDomain domain = at.left.domain;
    restrict_to_child(model_, candidate.division, child == 0, domain);
    gains[child] = most;
    if (remove_misfits(model_, target_, domain, budget)) {
      program_.set_basis(at.left.basis);
      const double bound = solve(domain, budget).bound;
      gains[child] = std::clamp((bound - at.node.bound) / model_.target(), 0.0, most);
    }
    branching_.learn(candidate, child == 0, gains[child]);
  }
  return gains;
}

FoundPlan RankLane::search(const PlaceDomain& places,
                           const std::vector<CapacityMultipliers>& prices, double improvement,
                           std::uint64_t steps, Budget& budget) {
  const ChoiceModel& model = model_.model();
  FoundPlan found = find_plan_below(
      {target_, nullptr, &places, improvement, parameters_.methods.filling}, model.pool().space(),
      model.available(), {prices_by_rank(prices, places.class_of_rank)}, steps,
      [&] { return budget.interrupted().has_value(); });
  budget.spend(parameters_.ranks.search_step_work * (found.steps + model_.choices().size()));
  return found;
}

// Tries all plans where this takes less than dividing: where about every second search ends. The
// check of a certificate does not search where there are placement rules.
bool RankLane::is_excluded(Visit& at, Budget& budget) {
  const ChoiceModel& model = model_.model();
  if (model.pool().space().problem().rules().any() || budget.interrupted()) return false;
  if (open_bits(model_, at.left.domain) > searched_bits_) return false;
  PlaceDomain places = no_places(model_);
  for (std::uint32_t c = 0; c < at.left.domain.size(); ++c)
    places.classes[model.choices()[c].option.index()] = at.left.domain[c].may;
  FoundPlan found;
  double target = 0;
  do {
    target = target_;
    places.has_even_shards = true;
    found = search(places, at.multipliers, 0, parameters_.ranks.leaf_search_steps, budget);
    // What counted as even may take more: the best plan that there is lowers the target.
    places.has_even_shards = false;
    if (found.plan) take_best_plan(places, at.multipliers, budget);
  } while (found.plan && target_ < target);
  const bool is_excluded = found.answer == FoundPlan::Answer::kNoneExists;
  has_excluded_ |= is_excluded;
  const double fall = has_excluded_ ? 1 : parameters_.ranks.first_bits_fall;
  searched_bits_ += is_excluded ? 1 : -fall;
  if (!is_excluded) return false;
  at.node.bound = target_;
  at.node.is_searched = true;
  at.node.search_steps = found.steps;
  at.node.multipliers = at.multipliers;
  return true;
}

// Among the plans of the node that have only choices of which the solution has parts. Ranks are
// free: where the solution has them seldom fits.
void RankLane::look_for_plan(const RankDomain& domain, Budget& budget) {
  PlaceDomain places = no_places(model_);
  for (std::uint32_t c = 0; c < domain.size(); ++c) {
    if (program_.share(c) > 0)
      places.classes[model_.model().choices()[c].option.index()] = domain[c].may;
  }
  take_best_plan(places, program_.multipliers(), budget);
}

// Looks for the best plan below the target, which falls with it.
void RankLane::take_best_plan(const PlaceDomain& places,
                              const std::vector<CapacityMultipliers>& prices, Budget& budget) {
  const double improvement = parameters_.targets.goal_in_gap * parameters_.optimality_gap;
  FoundPlan found = search(places, prices, improvement, parameters_.ranks.plan_steps, budget);
  if (!found.plan) return;
  found_ = std::move(found.plan);
  target_ = std::min(target_, found.below);
}

}  // namespace shardwright::embedding
