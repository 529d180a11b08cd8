#include "search/embedding/bound/capacity_split_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/embedding/bound/diving_heuristic.h"

namespace shardwright::embedding {

CapacitySplitTree::CapacitySplitTree(const ChoiceModel& model, const BoundParameters& parameters)
    : parameters_(&parameters),
      rows_(model, RankClasses::apart(model, parameters.classes)),
      branching_(rows_, parameters.branching),
      relaxation_(rows_, branching_, parameters) {}

void CapacitySplitTree::begin(double target, std::uint64_t work, bool divides) {
  abandon();
  target_ = target;
  work_ = 0;
  most_work_ = work;
  divides_ = divides;
  is_stuck_ = false;
  stuck_plan_ = {};
  nodes_.assign(1, {});
  std::vector<UniformUse> use(rows_.classes().num_apart());
  rows_.set_uniform_use(use, target);
  open_.push_back({0, root_domain(rows_, target), std::move(use)});
}

void CapacitySplitTree::abandon() {
  if (relaxation_.is_active()) relaxation_.abandon();
  open_.clear();
  target_ = 0;
}

void CapacitySplitTree::step(Budget& budget) {
  const std::uint64_t before = budget.work_done();
  if (!relaxation_.is_active()) {
    current_ = std::move(open_.back());
    open_.pop_back();
    rows_.set_uniform_use(current_.use, target_);
    relaxation_.begin(target_, std::move(current_.domain), UniformTreeParameters::kNodeWork,
                      std::nullopt);
  }
  if (std::optional<NodeAnswer> answer = relaxation_.step(budget)) take(*std::move(answer));
  work_ += budget.work_done() - before;
}

void CapacitySplitTree::take(NodeAnswer answer) {
  nodes_[current_.node].proof = std::move(answer.proof);
  if (answer.kind == NodeAnswer::Kind::kExcluded) return;
  const Interval known = certain();
  const bool is_certain = known.width > UniformTreeParameters::kLeastWidth;
  if (!divides_ && !is_certain) {
    is_stuck_ = true;
    stuck_plan_ = std::move(answer.plan);
    return;
  }
  const Interval interval = is_certain ? known : widest(answer.plan);
  const bool is_divided = answer.kind == NodeAnswer::Kind::kDivided;
  if (interval.width >
      (is_divided ? UniformTreeParameters::kLeastWidth : UniformTreeParameters::kLeastStuckWidth)) {
    nodes_[current_.node].proof.uniform_split = interval.split;
    const NodeId first = add_children();
    // The second child is visited first, because it is nearer to the fractional plan.
    for (const bool at_most : {true, false}) {
      std::vector<UniformUse> use = current_.use;
      use[interval.split.rank_class].restrict_to(interval.split, at_most);
      open_.push_back({at_most ? first : first + 1, relaxation_.domain(), std::move(use)});
    }
    return;
  }
  if (!is_divided) {
    is_stuck_ = true;
    stuck_plan_ = std::move(answer.plan);
    return;
  }
  BoundNode& proof = nodes_[current_.node].proof;
  const ChoiceModel& model = rows_.model();
  proof.count = answer.branch.count;
  for (const std::uint32_t table : answer.branch.tables)
    proof.tables.push_back(model.table(table));
  for (const auto& [choice, classes] : answer.branch.first_child)
    proof.first_child.push_back({model.choices()[choice].option, classes});
  const NodeId first = add_children();
  for (const bool is_second : {true, false}) {
    Domain domain = relaxation_.domain();
    restrict_to_child(model, answer.branch, !is_second, domain);
    open_.push_back({is_second ? first + 1 : first, std::move(domain), current_.use});
  }
}

Allocation CapacitySplitTree::take_suggestion(Budget& budget) {
  const FractionalPlan plan = std::exchange(stuck_plan_, {});
  if (plan.shares.empty()) return {};
  return round_patterns(rows_, relaxation_.domain(), relaxation_.columns().groups(), plan, target_,
                        *parameters_, budget);
}

CapacitySplitTree::NodeId CapacitySplitTree::add_children() {
  const auto first = static_cast<NodeId>(nodes_.size());
  nodes_[current_.node].first_child = first;
  nodes_[current_.node].proof.is_leaf = false;
  nodes_.resize(nodes_.size() + 2);
  return first;
}

double CapacitySplitTree::whole_rank(std::uint32_t rank_class,
                                     std::optional<MemoryTier> tier) const {
  const RankClass& whole = rows_.classes().whole(rank_class);
  return tier ? static_cast<double>(whole.room[*tier].value()) : target_ / whole.time_scale;
}

// Returns the widest interval from a node's lower end to the use that all tables have at least.
CapacitySplitTree::Interval CapacitySplitTree::certain() const {
  constexpr double kBelow = 1 - 1e-6;  // more than rounding and the tolerance of limits
  Interval best;
  for (std::uint32_t c = 0; c < rows_.classes().num_apart(); ++c) {
    const auto keep_wider = [&](std::optional<MemoryTier> tier) {
      const double use = certain_use(c, tier) * kBelow;
      const double least = tier ? current_.use[c].least_bytes[*tier] : current_.use[c].least_load;
      const double width = (use - least) / std::max(whole_rank(c, tier), 1e-300);
      if (width > best.width) best = {{c, tier, tier ? std::floor(use) : use}, width};
    };
    keep_wider(std::nullopt);
    for (const MemoryTier tier : rows_.model().tiers())
      keep_wider(tier);
  }
  return best;
}

double CapacitySplitTree::certain_use(std::uint32_t rank_class,
                                      std::optional<MemoryTier> tier) const {
  const ChoiceModel& model = rows_.model();
  const std::uint32_t own = rows_.classes().uniform_class(rank_class);
  double sum = 0;
  for (const EqualTables& group : relaxation_.columns().groups()) {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < model.choices(group.first()).size(); ++i) {
      const std::uint32_t choice = model.first_choice(group.first()) + i;
      if (relaxation_.domain()[choice] == 0) continue;
      double use = 0;
      for (const BoundRow& row : rows_.rows_of(choice)) {
        if (row.in_class && row.run == own) use = tier ? row.bytes[*tier] : row.load;
      }
      least = std::min(least, use);
    }
    sum += group.size() * least;
  }
  return sum;
}

CapacitySplitTree::Interval CapacitySplitTree::widest(const FractionalPlan& plan) const {
  Interval best;
  for (std::uint32_t c = 0; c < rows_.classes().num_apart(); ++c) {
    const auto keep_wider = [&](std::optional<MemoryTier> tier) {
      const Interval interval = interval_of(c, tier, plan);
      if (interval.width > best.width) best = interval;
    };
    keep_wider(std::nullopt);
    for (const MemoryTier tier : rows_.model().tiers())
      keep_wider(tier);
  }
  return best;
}

// Returns the interval from the node's lower end to the mean use in the fractional plan. The
// relaxation counts it twice; a split in its middle excludes the plan from both children.
CapacitySplitTree::Interval CapacitySplitTree::interval_of(std::uint32_t rank_class,
                                                           std::optional<MemoryTier> tier,
                                                           const FractionalPlan& plan) const {
  const UniformUse& own = current_.use[rank_class];
  const double all = whole_rank(rank_class, tier);
  const double least = tier ? own.least_bytes[*tier] : own.least_load;
  double most = std::min(all, tier ? own.most_bytes[*tier] : own.most_load);
  if (all <= 0) return {};
  if (!plan.shards.empty()) {
    const double uniform = mean_use(rows_.classes().uniform_class(rank_class), tier, plan);
    if (tier && uniform + mean_use(rank_class, tier, plan) < UniformTreeParameters::kFullness * all)
      return {};
    most = std::min(most, uniform);
  } else if (tier) {
    return {};
  }
  Interval interval{{rank_class, tier, (least + most) / 2}, (most - least) / all};
  if (tier) interval.split.at = std::floor(interval.split.at);
  return interval;
}

double CapacitySplitTree::mean_use(std::uint32_t rank_class, std::optional<MemoryTier> tier,
                                   const FractionalPlan& plan) const {
  double sum = 0;
  for (std::size_t r = 0; r < plan.shards.size(); ++r) {
    const BoundRow& row = rows_.rows()[r];
    sum += plan.shards[r][rank_class] * (tier ? row.bytes[*tier] : row.load);
  }
  return sum / rows_.classes()[rank_class].size;
}

std::vector<BoundNode> CapacitySplitTree::certificate_nodes() const {
  std::vector<BoundNode> nodes;
  std::vector<NodeId> next{0};
  while (!next.empty()) {
    const Node& node = nodes_[next.back()];
    next.pop_back();
    nodes.push_back(node.proof);
    if (node.first_child == 0) continue;
    next.push_back(node.first_child + 1);
    next.push_back(node.first_child);
  }
  return nodes;
}

bool UniformTargets::has_next(const TargetRange& range) const {
  if (suggests(range) || goes_on(range)) return true;
  return work_of(effort_) < parameters_.most_work &&
         std::min(stuck_, range.goal) - range.bound > range.least_step;
}

std::uint64_t UniformTargets::next_work(const TargetRange& range) const {
  return work_of(suggests(range) || goes_on(range) ? effort_ : effort_ + 1);
}

// Returns true if bisection continues with the same work per target.
bool UniformTargets::goes_on(const TargetRange& range) const {
  return effort_ > 0 && cut_short_ < parameters_.most_cut_short &&
         std::min(ceiling_, range.goal) - range.bound > range.least_step;
}

bool UniformTargets::suggests(const TargetRange& range) const {
  return suggestions_left_ > 0 && range.goal - stuck_ > range.least_step;
}

std::uint64_t UniformTargets::work_of(std::uint32_t effort) const {
  std::uint64_t work = parameters_.work;
  for (std::uint32_t e = 1; e < effort && work < parameters_.most_work; ++e)
    work *= parameters_.work_growth;
  return std::min(work, parameters_.most_work);
}

double UniformTargets::next(const TargetRange& range) {
  is_suggesting_ = suggests(range);
  if (is_suggesting_) {
    --suggestions_left_;
    // A better plan has lowered the goal since.
    if (suggested_ >= range.goal) suggested_ = stuck_;
    return suggested_ = (suggested_ + range.goal) / 2;
  }
  if (!goes_on(range)) {
    ++effort_;
    ceiling_ = stuck_;
    cut_short_ = 0;
  }
  ceiling_ = std::min(ceiling_, range.goal);
  return (range.bound + ceiling_) / 2;
}

void UniformTargets::fail(double target, bool is_stuck) {
  ceiling_ = target;
  if (is_stuck) {
    stuck_ = target;
    suggested_ = target;
    suggestions_left_ = parameters_.suggestions;
  } else {
    ++cut_short_;
  }
}

void CapacitySplitTrees::step(Proof& proof, Budget& budget) {
  if (tree_.is_active() && tree_.target() > proof.rating()) tree_.abandon();  // found a better plan
  if (!tree_.is_active()) {
    if (!has_more(proof)) return;
    const double target = targets_.next(range_of(proof));
    tree_.begin(target, targets_.work(), !targets_.is_suggesting());
  }
  const std::uint64_t before = budget.work_done();
  if (!tree_.has_ended()) tree_.step(budget);
  share_.own += budget.work_done() - before;
  if (!tree_.has_ended()) return;
  if (tree_.is_proved()) {
    proof.accept(tree_.target(), tree_.classes(), tree_.certificate_nodes());
  } else {
    if (!targets_.is_suggesting()) targets_.fail(tree_.target(), tree_.is_stuck());
    proof.suggest(tree_.take_suggestion(budget), tree_.target());
  }
  tree_.abandon();
}

}  // namespace shardwright::embedding
