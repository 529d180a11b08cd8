#include "search/embedding/bound/shared_tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardwright::embedding {

void TreeLane::begin(double target, const NodeLimits& limits) {
  target_ = target;
  limits_ = limits;
  search_steps_ = NodeSearchParameters::kNodeSteps;
  found_.reset();
  rounding_.reset();
  stuck_start_.reset();
  lesson_.reset();
  if (relaxation_) relaxation_->abandon();
  open_.clear();
  is_stuck_ = false;
  was_cut_short_ = false;
}

void TreeLane::assign(const std::vector<NodeId>& leaves) {
  open_.clear();
  for (auto leaf = leaves.rbegin(); leaf != leaves.rend(); ++leaf)
    open_.push_back({*leaf, std::nullopt});
}

void TreeLane::take_half(TreeLane& other) {
  const auto middle =
      other.open_.begin() + static_cast<std::ptrdiff_t>((other.open_.size() + 1) / 2);
  for (auto leaf = other.open_.begin(); leaf != middle; ++leaf)
    open_.push_back({leaf->node, std::nullopt});
  other.open_.erase(other.open_.begin(), middle);
}

NodeRelaxation& TreeLane::relaxation() {
  if (!relaxation_)
    relaxation_ = std::make_unique<NodeRelaxation>(*rows_, *branching_, *parameters_);
  return *relaxation_;
}

void TreeLane::visit_next(Budget& budget) {
  if (const auto lesson = std::exchange(lesson_, nullptr)) relaxation().learn(*lesson);
  Open next = std::move(open_.back());
  open_.pop_back();
  current_ = next.node;
  if (!next.domain) next.domain = tree_->domain(next.node, target_, budget);
  const std::uint64_t search_steps = current_ == 0 ? limits_.root_search_steps : search_steps_;
  relaxation().begin(target_, std::move(*next.domain), limits_.column_work,
                     limits_.may_divide ? std::optional(search_steps) : std::nullopt);
}

void TreeLane::step(Budget& budget) {
  const std::uint64_t before = budget.work_done();
  if (rounding_) {
    if (rounding_->step(budget)) end_rounding(budget);
  } else {
    if (!relaxation().is_active()) visit_next(budget);
    if (std::optional<NodeAnswer> answer = relaxation_->step(budget))
      take(*std::move(answer), budget);
  }
  work_ += budget.work_done() - before;
}

// Doubles the limit of steps after a successful search, and halves it after a failure.
void TreeLane::adapt_search(const NodeAnswer& answer) {
  if (current_ == 0 || search_steps_ == 0 || !answer.was_searched) return;
  search_steps_ = answer.proof.by_search
                      ? std::min(2 * search_steps_, NodeSearchParameters::kMostNodeSteps)
                      : search_steps_ / 2;
  if (search_steps_ < NodeSearchParameters::kLeastNodeSteps) search_steps_ = 0;
}

void TreeLane::end_rounding(Budget& budget) {
  stuck_start_ = rounding_->take_start(budget);
  rounding_.reset();
  is_stuck_ = true;
}

void TreeLane::take(NodeAnswer answer, const Budget& budget) {
  adapt_search(answer);
  was_cut_short_ |= answer.was_cut_short;
  const bool is_divided = answer.kind == NodeAnswer::Kind::kDivided;
  if (answer.kind == NodeAnswer::Kind::kStuck || (is_divided && !limits_.may_divide)) {
    found_ = std::move(answer.found);
    is_stuck_ = answer.plan.shares.empty();
    if (!is_stuck_) {
      rounding_.emplace(*rows_, relaxation_->domain(), relaxation_->columns().groups(), answer.plan,
                        target_, *parameters_, budget);
    }
    return;
  }
  if (is_divided) {
    const ChoiceModel& model = tree_->model();
    const NodeId first = kOwn + num_own_;
    num_own_ += 2;
    for (const bool is_first : {false, true}) {  // the second child is visited first
      Domain domain = relaxation_->domain();
      restrict_to_child(model, answer.branch, is_first, domain);
      open_.push_back({is_first ? first : first + 1, std::move(domain)});
    }
  }
  answer.plan = {};  // saves memory
  answered_.push_back({current_, std::move(answer)});
}

void TreeLane::run(std::uint64_t work, Budget& budget) {
  const std::uint64_t end = budget.work_done() + work;
  const auto goes_on = [&] { return budget.work_done() < end && !budget.interrupted(); };
  while (!is_idle() && !is_stuck_ && (is_at_end() || goes_on()))
    step(budget);
}

std::uint64_t TreeLane::hand_over(BoundTree& tree) {
  std::vector<NodeId> in_tree;  // identifiers in the tree of the lane's own nodes
  const auto name = [&](NodeId node) { return node < kOwn ? node : in_tree[node - kOwn]; };
  for (Answered& own : answered_) {
    if (own.answer.kind == NodeAnswer::Kind::kDivided) {
      const NodeId first = tree.divide(name(own.node), target_, own.answer.branch,
                                       std::move(own.answer.proof.fixing));
      in_tree.push_back(first);
      in_tree.push_back(first + 1);
    } else {
      tree.close(name(own.node), target_, std::move(own.answer.proof), own.answer.search_steps);
    }
  }
  for (Open& open : open_)
    open.node = name(open.node);
  if (relaxation_ && relaxation_->is_active()) current_ = name(current_);
  answered_.clear();
  num_own_ = 0;
  return std::exchange(work_, 0);
}

SharedTrees::SharedTrees(const ChoiceModel& model, const BoundParameters& parameters)
    : own_model_(model.rules().any() ? std::make_unique<ChoiceModel>(model.for_bounds()) : nullptr),
      model_(own_model_ ? own_model_.get() : &model),
      parameters_(&parameters) {
  tree_of(HostClasses::kJoint);
}

SharedTree& SharedTrees::tree_of(HostClasses which) {
  std::unique_ptr<SharedTree>& tree = of(which);
  if (!tree) {
    BoundRows rows(*model_, which == HostClasses::kSeparate);
    tree = std::make_unique<SharedTree>(std::move(rows), *parameters_);
  }
  return *tree;
}

void SharedTrees::plant_again() {
  for (const std::unique_ptr<SharedTree>& tree : shared_trees_) {
    if (tree) tree->plant_again();
  }
}

SharedTree::SharedTree(BoundRows rows, const BoundParameters& parameters)
    : parameters_(&parameters),
      rows_(std::move(rows)),
      branching_(rows_, parameters.branching),
      tree_(rows_),
      lanes_(parameters.targets.tree_lanes) {
  lanes_.front() = std::make_unique<TreeLane>(tree_, rows_, branching_, parameters);
}

bool SharedTree::is_too_large() const {
  return lanes_.front()->relaxation().columns().max_rows() > parameters_->max_master_rows;
}

void SharedTree::share(double target, const NodeLimits& limits) {
  const auto lesson =
      std::make_shared<const PricingKnowledge>(first_lane().relaxation().columns().known());
  for (std::unique_ptr<TreeLane>& lane : lanes_) {
    if (lane == lanes_.front()) continue;
    if (!lane) lane = std::make_unique<TreeLane>(tree_, rows_, branching_, *parameters_);
    lane->begin(target, limits);
    lane->learn(lesson);
  }
}

void SharedTree::deal_out() {
  for (const std::unique_ptr<TreeLane>& lane : lanes_) {
    if (!lane->is_idle()) continue;
    const auto fullest = std::max_element(lanes_.begin(), lanes_.end(), [](auto& a, auto& b) {
      return a->num_waiting() < b->num_waiting();
    });
    if ((*fullest)->num_waiting() == 0) break;
    lane->take_half(**fullest);
  }
}

}  // namespace shardwright::embedding
