#include "search/embedding/best/bound/ranks/tree/rank_tree.h"

#include <algorithm>
#include <limits>

#include "search/embedding/best/bound/ranks/rank_costs.h"
#include "search/embedding/best/bound/ranks/tree/rank_certificate.h"

namespace shardwright::embedding {

RankTree::RankTree(const ChoiceModel& model, double target, const MultiplierList& prices,
                   RankExperience known, const BoundParameters& parameters, Budget& budget)
    : parameters_(parameters),
      target_(target),
      model_(model, target, parameters.ranks.least_extra),
      program_(model_, reduced_root(prices, budget), parameters, budget),
      known_(std::move(known)),
      lanes_(parameters.ranks.lanes),
      stuck_bound_(std::numeric_limits<double>::infinity()) {}

// The root is the first node to visit.
RankDomain RankTree::reduced_root(const MultiplierList& prices, Budget& budget) {
  RankDomain domain = whole_domain(model_);
  for (const std::vector<CapacityMultipliers>& own : prices) {
    if (!remove_misfits(model_, target_, domain, budget)) break;
    budget.spend(domain.size() * model_.num_ranks());
    RankCosts(model_, own).remove_dear(target_, domain);
    root_fixing_.push_back(own);
  }
  open_.push_back(
      {{}, 0, 1, std::make_shared<const DividedRankNode>(DividedRankNode{domain, {}, {}, {}})});
  return domain;
}

std::uint64_t RankTree::open_cells() const {
  const RankDomain& root = open_.front().parent->domain;
  const auto open =
      std::count_if(root.begin(), root.end(), [](const RankPlaces& own) { return own.may != 0; });
  return static_cast<std::uint64_t>(open) * model_.num_ranks();
}

RankLane& RankTree::lane(std::size_t index) {
  std::unique_ptr<RankLane>& own = lanes_[index];
  if (!own) {
    own = std::make_unique<RankLane>(static_cast<std::uint32_t>(index), model_, program_, known_,
                                     parameters_);
  }
  return *own;
}

// In turn, so that every lane has some of the lowest bounds.
void RankTree::begin_round() {
  const std::size_t most = lanes_.size() * parameters_.ranks.dealt_nodes;
  num_busy_ = std::min(lanes_.size(), open_.size());
  for (std::size_t i = 0; i < most && !open_.empty(); ++i) {
    std::pop_heap(open_.begin(), open_.end(), is_later);
    lane(i % lanes_.size()).add(std::move(open_.back()));
    open_.pop_back();
  }
}

void RankTree::run_lane(std::size_t lane, std::uint64_t work, Budget& budget) {
  if (lane >= num_busy_) return;
  const std::size_t left = parameters_.ranks.max_nodes - num_nodes_;
  lanes_[lane]->run(target_, work, left, budget);
}

void RankTree::end_round() {
  num_nodes_ = 0;
  for (const std::unique_ptr<RankLane>& own : lanes_) {
    if (!own) continue;
    for (OpenRankNode& node : own->take_open()) {
      open_.push_back(std::move(node));
      std::push_heap(open_.begin(), open_.end(), is_later);
    }
    known_.add(own->take_learned());
    num_nodes_ += own->nodes().size();
    stuck_bound_ = std::min(stuck_bound_, own->stuck_bound());
    std::optional<Plan> found = own->take_found();
    if (found && own->target() < target_) {
      found_ = std::move(found);
      target_ = own->target();
    }
  }
  num_busy_ = 0;
}

double RankTree::bound() const {
  const double open = open_.empty() ? target_ : open_.front().bound;
  return std::min({target_, stuck_bound_, open});
}

double RankTree::closed_part() const {
  double closed = 0;
  for (const std::unique_ptr<RankLane>& own : lanes_)
    closed += own ? own->closed_part() : 0;
  return closed;
}

std::uint64_t RankTree::check_steps() const {
  std::uint64_t steps = 0;
  for (const std::unique_ptr<RankLane>& own : lanes_)
    steps += own ? own->check_steps() : 0;
  return steps;
}

std::vector<const RankNode*> RankTree::visited() const {
  std::vector<const RankNode*> visited;
  for (const std::unique_ptr<RankLane>& own : lanes_) {
    for (std::size_t i = 0; own && i < own->nodes().size(); ++i)
      visited.push_back(&own->nodes()[i]);
  }
  return visited;
}

double RankTree::bound_within(std::uint64_t check_steps) const {
  return affordable_bound(visited(), bound(), check_steps);
}

BoundCertificate RankTree::certificate(double bound) const {
  return rank_certificate(model_, root_fixing_, visited(), bound);
}

}  // namespace shardwright::embedding
