#include "search/embedding/best/bound/bound_prover.h"

#include <algorithm>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/best/bound/aggregate_bound.h"

namespace shardwright::embedding {
namespace {

// A bound is lowered by this before it is claimed: the check raises it by kRatingSlack, and rounds
// every sum to the safe side, which costs less than the rest.
constexpr double kRounding = 3 * kRatingSlack;

}  // namespace

BoundProver::BoundProver(const ChoiceModel& model, const BoundParameters& parameters)
    : parameters_(parameters),
      own_model_(model.rules().any() ? std::make_unique<ChoiceModel>(model.for_bounds()) : nullptr),
      model_(own_model_ ? own_model_.get() : &model),
      joint_(std::make_unique<Relaxation>(*model_, false, parameters_)),
      targets_(parameters_, RankClasses::can_separate_hosts(*model_, parameters_.classes)) {
  only_aggregate_ = joint_->columns.max_rows() > parameters_.max_master_rows;
  const RankClasses& classes = joint_->rows.classes();
  certificate_.class_of_rank = classes.class_of_rank();
  BoundNode nothing;
  nothing.multipliers.resize(classes.size());
  certificate_.nodes.push_back(nothing);
}

bool BoundProver::proves(double rating) const {
  return certificate_.bound >= rating * (1 - parameters_.optimality_gap);
}

BoundProver::Relaxation& BoundProver::relaxation() {
  if (!targets_.separates_hosts()) return *joint_;
  if (!separate_) separate_ = std::make_unique<Relaxation>(*model_, true, parameters_);
  return *separate_;
}

void BoundProver::run(std::uint64_t work, double rating, Budget& budget) {
  if (finished_ && rating < rating_) {
    finished_ = false;
    targets_.begin_again();
  }
  rating_ = rating;
  if (proves(rating_)) finished_ = true;
  const std::uint64_t end = budget.work_done() + work;
  while (!finished_ && budget.work_done() < end && !budget.interrupted()) {
    if (only_aggregate_ && !needs_aggregate_bound()) return;
    step(budget);
  }
}

bool BoundProver::needs_aggregate_bound() const {
  return aggregate_rating_ == 0 || rating_ < aggregate_rating_ * (1 - parameters_.rating_fall);
}

void BoundProver::step(Budget& budget) {
  if (needs_aggregate_bound()) {
    raise_aggregate_bound(budget);
  } else if (target_ == 0) {
    choose_target();
  } else {
    const std::uint64_t before = budget.work_done();
    visit_node(budget);
    tree_work_ += budget.work_done() - before;
  }
  if (proves(rating_)) finished_ = true;
}

void BoundProver::raise_aggregate_bound(Budget& budget) {
  const BoundRows& rows = joint_->rows;
  const Domain everywhere(model_->choices().size(), rows.classes().everywhere());
  AggregateBound found = aggregate_bound(rows, rating_, everywhere, parameters_.aggregate, budget);
  aggregate_rating_ = rating_;
  BoundNode leaf;
  leaf.multipliers = std::move(found.multipliers);
  accept(std::min(found.bound, rating_), *joint_, {leaf});
}

void BoundProver::accept(double bound, const Relaxation& by, std::vector<BoundNode> nodes) {
  const double rounded = bound * (1 - kRounding);
  if (!(rounded > certificate_.bound)) return;
  certificate_.bound = rounded;
  certificate_.class_of_rank = by.rows.classes().class_of_rank();
  certificate_.nodes = std::move(nodes);
}

void BoundProver::choose_target() {
  const std::optional<double> target = targets_.next(certificate_.bound, rating_);
  if (!target) {
    finished_ = true;
    return;
  }
  target_ = *target;
  tree_.begin(relaxation().rows, target_);
  tree_work_ = 0;
}

void BoundProver::visit_node(Budget& budget) {
  // A better plan may have been found since the target was chosen.
  if (target_ > rating_ || tree_.num_visited() >= parameters_.targets.max_nodes) {
    return give_up_target();
  }
  if (targets_.is_branching() && tree_work_ >= targets_.tree_work()) {
    targets_.note_cut_short();
    return give_up_target();
  }
  if (relaxation().columns.is_active()) {
    if (std::optional<RelaxationAnswer> answer = relaxation().columns.iterate(budget)) {
      take_answer(std::move(*answer));
    }
    return;
  }
  if (tree_.is_closed()) {
    accept(target_, relaxation(), tree_.take_nodes());
    target_ = 0;
    return;
  }
  tree_.visit_next();
  if (!exclude_by_aggregate_bound(budget)) {
    relaxation().columns.begin(target_, tree_.domain(), targets_.node_work());
  }
}

void BoundProver::take_answer(RelaxationAnswer answer) {
  if (answer.kind == RelaxationAnswer::Kind::kInfeasible) {
    tree_.add_leaf(std::move(answer.leaf));
    return;
  }
  if (answer.kind == RelaxationAnswer::Kind::kUnknown) targets_.note_cut_short();
  if (!targets_.is_branching() || !divide_node(answer.plan)) give_up_target();
}

bool BoundProver::exclude_by_aggregate_bound(Budget& budget) {
  AggregateBound found =
      aggregate_bound(relaxation().rows, target_, tree_.domain(), parameters_.aggregate, budget);
  if (found.bound <= target_ * (1 + kRounding)) return false;
  BoundNode leaf;
  leaf.multipliers = std::move(found.multipliers);
  tree_.add_leaf(std::move(leaf));
  return true;
}

bool BoundProver::divide_node(const FractionalPlan& plan) {
  if (plan.shares.empty()) return false;
  const std::optional<Branch> branch =
      relaxation().branching.choose(tree_.domain(), relaxation().columns.groups(), plan, target_);
  if (!branch) {
    suggest(plan);
    return false;
  }
  tree_.divide(*model_, *branch);
  return true;
}

// Takes the largest share of every table.
void BoundProver::suggest(const FractionalPlan& plan) {
  if (own_model_) return;  // it may have other choices
  suggestion_.emplace();
  suggestion_->target = target_;
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    const auto first = plan.shares.begin() + model_->first_choice(table);
    const auto end = first + static_cast<std::ptrdiff_t>(model_->choices(table).size());
    suggestion_->choices.push_back(
        static_cast<std::uint32_t>(std::max_element(first, end) - plan.shares.begin()));
  }
}

void BoundProver::give_up_target() {
  relaxation().columns.abandon();
  if (target_ <= rating_) targets_.fail(target_);
  target_ = 0;
  tree_.clear();
}

}  // namespace shardwright::embedding
