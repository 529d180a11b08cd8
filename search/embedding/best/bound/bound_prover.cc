#include "search/embedding/best/bound/bound_prover.h"

#include <algorithm>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/caches/check_load_factors.h"
#include "search/embedding/best/bound/relaxation/aggregate_bound.h"

namespace shardwright::embedding {
namespace {

// Work of a lane in a round of run().
constexpr std::uint64_t kRoundWork = 100'000;

constexpr std::size_t kMostSuggestions = 8;

}  // namespace

BoundProver::BoundProver(const ChoiceModel& model, const BoundParameters& parameters)
    : parameters_(parameters),
      views_(model, parameters_),
      targets_(parameters_, RankClasses::can_separate_hosts(views_.model(), parameters_.classes)),
      uniform_targets_(parameters_.uniform),
      root_search_(parameters_),
      coarse_(parameters_),
      rank_proof_(views_.model(), parameters_) {
  only_aggregate_ = views_.is_only_aggregate();
  may_be_apart_ =
      !only_aggregate_ && RankClasses::can_be_apart(views_.model(), parameters_.classes);
  const RankClasses& classes = views_.view(RankView::kJoint).rows().classes();
  certificate_.class_of_rank = classes.class_of_rank();
  certificate_.load_factors = load_factors_of(model.pool().space());
  BoundNode nothing;
  nothing.multipliers.resize(classes.size());
  certificate_.nodes.push_back(nothing);
}

bool BoundProver::proves(double rating) const {
  return certificate_.bound >= rating * (1 - parameters_.optimality_gap);
}

void BoundProver::run(std::uint64_t work, double rating, Budget& budget) {
  const std::uint64_t end = budget.work_done() + work;
  for (std::uint64_t before = budget.work_done(); before < end && !budget.interrupted();) {
    begin_round(rating);
    if (finished()) return;
    for (std::size_t lane = 0; lane < (is_shared_ ? num_lanes() : 1); ++lane)
      run_lane(lane, is_shared_ ? kRoundWork : end - before, budget);
    for (std::size_t lane = 0; finished_ && !finished() && lane < num_busy_rank_lanes(); ++lane)
      run_rank_lane(lane, kRoundWork, budget);
    end_round();
    if (budget.work_done() == before && !is_shared_) return;
    before = budget.work_done();
  }
}

void BoundProver::begin_round(double rating) {
  if (finished_ && rating < rating_) {
    finished_ = false;
    targets_.begin_again();
  }
  rating_ = rating;
  if (proves(rating_)) finished_ = true;
  rank_proof_.begin_round(certificate_.bound, targets_.goal(rating_));
  // A better plan may have been found since the target was chosen.
  if (is_shared_ && (finished_ || target_ > rating_)) give_up_target();
  is_shared_ &= target_ != 0;
  if (is_shared_) relaxation().deal_out();
}

void BoundProver::run_lane(std::size_t lane, std::uint64_t work, Budget& budget) {
  if (is_shared_) {
    relaxation().lanes()[lane]->run(work, budget);
  } else if (lane == 0) {
    run_alone(work, budget);
  }
}

void BoundProver::end_round() {
  take_from_ranks();
  if (!is_shared_) {
    if (should_share()) share_tree();
    return;
  }
  bool is_stuck = false;
  for (const auto& lane : relaxation().lanes()) {
    take_from(*lane);
    is_stuck |= lane->is_stuck();
  }
  if (relaxation().tree().open_leaves(target_).empty()) {
    prove_target();
  } else if (is_stuck || gives_up_tree()) {
    give_up_target();
  }
  is_shared_ = target_ != 0;
}

// Small trees end sooner on one lane, which begins with the next target at once. A larger one is
// shared as soon as it has two leaves.
bool BoundProver::should_share() {
  if (target_ == 0 || finished_ || !targets_.is_branching()) return false;
  TreeLane& lane = relaxation().first_lane();
  return tree_work_ >= parameters_.targets.alone_work && !lane.is_at_end() &&
         lane.num_waiting() + (lane.relaxation().is_active() ? 1U : 0U) > 1;
}

// Stops where a tree is to be shared. A search at the root goes on before anything else.
void BoundProver::run_alone(std::uint64_t work, Budget& budget) {
  const std::uint64_t end = budget.work_done() + work;
  while (!finished_ && budget.work_done() < end && !budget.interrupted()) {
    if (only_aggregate_ && !needs_aggregate_bound() && !needs_light_tree() && !needs_coarse_proof())
      return;
    if (should_share()) return;
    root_search_.is_running() ? search_root(budget) : step(budget);
    if (proves(rating_)) finished_ = true;
  }
}

bool BoundProver::needs_aggregate_bound() const {
  if (!parameters_.methods.aggregate) return false;
  return aggregate_rating_ == 0 || rating_ < aggregate_rating_ * (1 - parameters_.rating_fall);
}

void BoundProver::step(Budget& budget) {
  if (needs_aggregate_bound()) {
    raise_aggregate_bound(budget);
  } else if (target_ == 0 && !light_tree_ && needs_pins()) {
    pin_tables(budget);
  } else if (target_ == 0 && needs_light_tree()) {
    grow_light_tree(budget);
  } else if (target_ == 0 && needs_coarse_proof()) {
    prove_coarsely(budget);
  } else if (target_ == 0 && needs_root_search()) {
    search_root(budget);
  } else if (target_ == 0 && needs_uniform_tree()) {
    grow_uniform_tree(budget);
  } else if (target_ == 0) {
    choose_target();
  } else if (target_ > rating_ || gives_up_tree()) {
    give_up_target();
  } else {
    TreeLane& lane = relaxation().first_lane();
    lane.step(budget);
    take_from(lane);
    if (lane.is_stuck()) {
      give_up_target();
    } else if (lane.is_idle()) {
      prove_target();
    }
  }
}

void BoundProver::raise_aggregate_bound(Budget& budget) {
  const BoundRows& rows = views_.view(RankView::kJoint).rows();
  const Domain everywhere(model().choices().size(), rows.classes().everywhere());
  AggregateBound found = aggregate_bound(rows, rating_, everywhere, parameters_.aggregate, budget);
  aggregate_rating_ = rating_;
  BoundNode leaf;
  leaf.multipliers = std::move(found.multipliers);
  accept(std::min(found.bound, rating_), rows.classes(), {leaf});
}

bool BoundProver::needs_pins() const {
  if (!parameters_.methods.pins) return false;
  return rating_ < pin_rating_ * (1 - parameters_.rating_fall);
}

// Classes of their own make every later step dearer, so they must raise the aggregate bound.
void BoundProver::pin_tables(Budget& budget) {
  pin_rating_ = rating_;
  const double target = targets_.goal(rating_);
  if (certificate_.bound >= target) return;
  Pins found = find_pins(model(), target, parameters_, budget);
  if (found.tables.empty() || found.gain < parameters_.pins.least_gain ||
      (views_.pins() != nullptr && found.tables == views_.pins()->tables))
    return;
  views_.pin(std::move(found));
  light_ceiling_ = std::numeric_limits<double>::infinity();
}

bool BoundProver::needs_light_tree() const {
  if (!parameters_.methods.light_tree) return false;
  if (light_tree_ || rating_ < light_rating_) return true;
  const double least_step = parameters_.targets.root_step * rating_;
  return light_trees_left_ > 0 && light_ceiling() - certificate_.bound > least_step;
}

// No target above this is tried: one that is higher than another that failed fails, too.
double BoundProver::light_ceiling() const {
  return std::min(light_ceiling_, targets_.goal(rating_));
}

// One tree for the goal of every better plan, if it is below all targets that failed. If the rating
// fell much, others follow, by bisection between the bound and the lowest of these.
void BoundProver::grow_light_tree(Budget& budget) {
  if (light_tree_ && light_tree_->target() > rating_) light_tree_.reset();  // a better plan came
  if (!light_tree_) plant_light_tree(budget);
  if (!light_tree_) return;
  if (!light_tree_->has_ended()) light_tree_->step(budget);
  if (!light_tree_->has_ended()) return;
  if (light_tree_->is_proved()) {
    accept(light_tree_->target(), joint().rows().classes(), light_tree_->certificate_nodes());
  } else {
    light_ceiling_ = light_tree_->target();
    suggest(Allocation::of_choices(light_tree_->stuck_choices()), light_tree_->target());
  }
  light_tree_.reset();
}

void BoundProver::plant_light_tree(Budget& budget) {
  double target = (certificate_.bound + light_ceiling()) / 2;
  if (rating_ < light_rating_) {
    if (rating_ < light_rating_ * (1 - parameters_.rating_fall))
      light_trees_left_ = parameters_.targets.light_trees;
    light_rating_ = rating_;
    target = targets_.goal(rating_);
    if (target >= light_ceiling_) return;
  }
  light_trees_left_ -= std::min(light_trees_left_, 1U);
  if (certificate_.bound >= target) return;
  TreeView& own = joint();
  light_tree_.emplace(own.rows(), own.pinned(), own.branching(), target, parameters_, budget);
}

bool BoundProver::has_uniform_target() const {
  return parameters_.methods.uniform_apart && may_be_apart_ && targets_.effort() > 0 &&
         uniform_targets_.has_next(certificate_.bound, targets_.goal(rating_),
                                   parameters_.targets.root_step * rating_);
}

bool BoundProver::needs_uniform_tree() const {
  if (uniform_tree_ && uniform_tree_->is_active()) return true;
  return has_uniform_target() && uniform_targets_.is_due(certificate_.bound, targets_.goal(rating_),
                                                         parameters_.targets.root_step * rating_);
}

void BoundProver::grow_uniform_tree(Budget& budget) {
  if (!uniform_tree_) uniform_tree_ = std::make_unique<UniformTree>(model(), parameters_);
  UniformTree& own = *uniform_tree_;
  if (own.is_active() && own.target() > rating_) own.abandon();  // a better plan came
  if (!own.is_active()) {
    if (!needs_uniform_tree()) return;
    const double target = uniform_targets_.next(certificate_.bound, targets_.goal(rating_),
                                                parameters_.targets.root_step * rating_);
    own.begin(target, uniform_targets_.work(), !uniform_targets_.is_suggesting());
  }
  const std::uint64_t before = budget.work_done();
  if (!own.has_ended()) own.step(budget);
  uniform_targets_.share().own += budget.work_done() - before;
  root_search_.share().others += budget.work_done() - before;
  if (!own.has_ended()) return;
  if (own.is_proved()) {
    accept(own.target(), own.classes(), own.certificate_nodes());
  } else {
    if (!uniform_targets_.is_suggesting()) uniform_targets_.fail(own.target(), own.is_stuck());
    suggest(own.take_suggestion(budget), own.target());
  }
  own.abandon();
}

void BoundProver::search_root(Budget& budget) {
  const double goal = targets_.goal(rating_);
  const std::uint64_t before = budget.work_done();
  RootSearch::Answer answer = root_search_.step(joint(), certificate_.bound, goal, budget);
  uniform_targets_.share().others += budget.work_done() - before;
  if (answer.found) found_ = std::move(answer.found);
  if (!answer.proof.empty())
    accept(answer.proved, joint().rows().classes(), std::move(answer.proof));
}

void BoundProver::prove_coarsely(Budget& budget) {
  TreeView& view = views_.view(RankView::kJoint);
  CoarseProof& own =
      coarse_.proof(view.rows(), rating_, certificate_.bound, targets_.goal(rating_));
  own.step(budget);
  if (auto proof = own.take_proof())
    accept(proof->target, view.rows().classes(), {std::move(proof->leaf)});
  if (auto suggested = own.take_suggestion())
    suggest(std::move(suggested->start), suggested->target);
  if (own.has_ended()) coarse_.end();
}

void BoundProver::run_rank_lane(std::size_t lane, std::uint64_t work, Budget& budget) {
  rank_proof_.run_lane(lane, views_.view(RankView::kJoint).rows(), work, budget);
}

void BoundProver::take_from_ranks() {
  rank_proof_.end_round();
  if (std::optional<Plan> found = rank_proof_.take_found()) found_ = std::move(found);
  std::optional<BoundCertificate> proof = rank_proof_.take_proof();
  if (!proof || proof->bound <= certificate_.bound) return;
  proof->load_factors = certificate_.load_factors;
  std::optional<BoundCertificate> before = std::exchange(certificate_, *std::move(proof));
  short_ = rank_proof_.is_long() ? std::move(before) : std::nullopt;
}

void BoundProver::accept(double bound, const RankClasses& classes, std::vector<BoundNode> nodes) {
  const double rounded = bound * (1 - kBoundRounding);
  if (!(rounded > certificate_.bound)) return;
  certificate_.bound = rounded;
  certificate_.class_of_rank = classes.class_of_rank();
  certificate_.ranks_are_alike = classes.are_alike();
  certificate_.uniform_apart = classes.uniform_apart();
  certificate_.ranks_apart = false;
  certificate_.nodes = std::move(nodes);
  short_.reset();
}

void BoundProver::choose_target() {
  const bool was_early = targets_.is_early();
  const std::optional<double> target = parameters_.methods.column_generation
                                           ? targets_.next(certificate_.bound, rating_)
                                           : std::nullopt;
  uniform_targets_.share().others_ended = !target;
  root_search_.share().others_ended = !target && !has_uniform_target();
  if (!target) {
    finished_ = !has_uniform_target() && !has_root_search();
    return;
  }
  target_ = *target;
  tree_work_ = 0;
  plant_trees();
  if (was_early || targets_.is_early()) joint().plant_again();
  BoundTree& tree = relaxation().tree();
  const std::vector<BoundTree::NodeId> open = tree.open_leaves(target_);
  if (open.empty()) return prove_target();
  const bool may_divide = parameters_.methods.branching && targets_.is_branching() &&
                          tree.size() < parameters_.targets.max_nodes;
  TreeLane& lane = relaxation().first_lane();
  lane.begin(target_, {targets_.node_work(), targets_.root_search_steps(), may_divide});
  lane.assign(open);
}

void BoundProver::take_from(TreeLane& lane) {
  const std::uint64_t work = lane.hand_over(relaxation().tree());
  tree_work_ += work;
  uniform_targets_.share().others += work;
  root_search_.share().others += work;
  if (lane.was_cut_short()) targets_.note_cut_short();
  if (std::optional<Plan> found = lane.take_found()) found_ = std::move(found);
  if (const auto& start = lane.stuck_start()) suggest(*start, target_);
}

void BoundProver::suggest(Allocation start, double target) {
  // With rules, the prover's own model may have other choices.
  if (!parameters_.methods.suggestions) return;
  if (start.choice.empty() || views_.has_own_model()) return;
  if (suggestions_.size() == kMostSuggestions) suggestions_.erase(suggestions_.begin());
  suggestions_.push_back({std::move(start), target});
}

// A much better plan is another goal. The tree for the old one is divided where that goal needed
// it, and a new one takes fewer nodes.
void BoundProver::plant_trees() {
  if (rating_ >= tree_rating_ * (1 - parameters_.rating_fall)) return;
  tree_rating_ = rating_;
  views_.plant_again();
}

// Returns true for a tree that has had its work, but may be done soon.
bool BoundProver::is_worth_more() {
  const double closed = relaxation().tree().closed_part(target_);
  const double most = closed * parameters_.targets.most_extension;
  return closed >= parameters_.targets.closed_part &&
         static_cast<double>(tree_work_) < most * static_cast<double>(targets_.tree_work());
}

// Returns true if the tree has become too large, or takes too long for now.
bool BoundProver::gives_up_tree() {
  if (!targets_.is_branching() || relaxation().first_lane().is_at_end()) return false;
  if (tree_work_ >= targets_.tree_work() && !is_worth_more()) {
    targets_.note_cut_short();
    return true;
  }
  return relaxation().tree().size() >= parameters_.targets.max_nodes &&
         relaxation().first_lane().may_divide();
}

// All lanes begin with what the first one knows.
void BoundProver::share_tree() {
  TreeView& own = relaxation();
  const NodeLimits limits{targets_.node_work(), 0, own.first_lane().may_divide()};
  own.share(target_, limits, own.first_lane().relaxation().columns().known());
  is_shared_ = true;
}

// A proof whose check would take too long is none.
void BoundProver::prove_target() {
  if (relaxation().tree().search_steps() > parameters_.search.proof_steps) return give_up_target();
  accept(target_, relaxation().rows().classes(), relaxation().tree().certificate_nodes(target_));
  target_ = 0;
}

void BoundProver::give_up_target() {
  if (target_ <= rating_) targets_.fail(target_);
  target_ = 0;
}

}  // namespace shardwright::embedding
