#include "search/embedding/best/bound/bound_prover.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardwright::embedding {
namespace {

// What the check of a certificate adds to a bound before it tests it, and as much for its rounding.
constexpr double kRounding = 3e-9;
// Boxes that a target is worth.
constexpr std::size_t kMostBoxes = 4000;
// Work that a box is worth, and one that will not be cut.
constexpr std::uint64_t kBoxWork = 40'000'000;
constexpr std::uint64_t kMostRootWork = 128'000'000;
// Rows of shards beyond which a program of patterns takes longer than a whole search.
constexpr std::size_t kMostRows = 6'000;
// Fall of the rating, relative, after which other choices may be out.
constexpr double kWorthwhile = 1e-3;

}  // namespace

BoundProver::BoundProver(const ChoiceModel& model)
    : own_model_(model.rules().any() ? std::make_unique<ChoiceModel>(model.for_bounds()) : nullptr),
      model_(own_model_ ? own_model_.get() : &model),
      rows_(std::make_unique<BoundRows>(*model_, false)),
      patterns_(std::make_unique<PatternBound>(*rows_)) {
  too_large_ = patterns_->size() > kMostRows;
  certificate_.class_of_rank = rows_->class_of_rank();
  BoundNode nothing;
  nothing.prices.resize(rows_->classes().size());
  certificate_.nodes.push_back(nothing);
  for (const RankClass& own : rows_->classes()) {
    ranks_ += own.size;
    room_ += own.size * std::max(1.0, static_cast<double>(own.room.hbm.value()));
  }
}

void BoundProver::run(std::uint64_t work, double rating, Budget& budget) {
  rating_ = rating;
  if (certificate_.bound >= rating_ * (1 - kOptimal)) finished_ = true;
  const std::uint64_t end = budget.work_done() + work;
  while (!finished_ && budget.work_done() < end && !budget.interrupted()) {
    if (too_large_ && !needs_prices()) return;
    step(budget);
  }
}

bool BoundProver::needs_prices() const {
  return priced_rating_ == 0 || rating_ < priced_rating_ * (1 - kWorthwhile);
}

void BoundProver::step(Budget& budget) {
  if (needs_prices()) {
    prove_by_prices(budget);
  } else if (target_ == 0) {
    choose_target();
  } else {
    visit_box(budget);
  }
  if (certificate_.bound >= rating_ * (1 - kOptimal)) finished_ = true;
}

void BoundProver::prove_by_prices(Budget& budget) {
  const Box everywhere(model_->choices().size(), rows_->everywhere());
  const AggregateBound found = aggregate_bound(*rows_, rating_, everywhere, budget);
  priced_rating_ = rating_;
  BoundNode leaf;
  leaf.prices = found.prices;
  accept(std::min(found.bound, rating_), {leaf});
}

void BoundProver::accept(double bound, std::vector<BoundNode> nodes) {
  const double rounded = bound * (1 - kRounding);
  if (!(rounded > certificate_.bound)) return;
  certificate_.bound = rounded;
  certificate_.class_of_rank = rows_->class_of_rank();
  certificate_.nodes = std::move(nodes);
}

// At first the one that proves the rating optimal; where that fails, halfway down to the bound.
void BoundProver::choose_target() {
  const double goal = rating_ * (1 - 0.9 * kOptimal);
  if (ceiling_ > rating_) ceiling_ = 0;
  if (ceiling_ != 0 && ceiling_ - certificate_.bound < least_step() * rating_) {
    if (trees_) {
      finished_ = true;
      return;
    }
    if (!trees_ && cut_short_ && root_work_ < kMostRootWork) {
      root_work_ *= 4;
      cut_short_ = false;
      ceiling_ = rating_;
    } else {
      trees_ = true;
      ceiling_ = 0;
    }
  }
  target_ = ceiling_ == 0 ? goal : (ceiling_ + certificate_.bound) / 2;
  begin_tree();
}

// Between targets, relative to the rating.
double BoundProver::least_step() const { return trees_ ? 2e-5 : 1e-3; }

void BoundProver::begin_tree() {
  Box root(model_->choices().size(), 0);
  for (std::uint32_t choice = 0; choice < root.size(); ++choice) {
    if (rows_->is_possible(choice, target_)) root[choice] = rows_->everywhere();
  }
  nodes_.clear();
  open_.assign(1, std::move(root));
  boxes_ = 0;
}

void BoundProver::visit_box(Budget& budget) {
  // A better plan was found meanwhile, or this takes too long.
  if (target_ > rating_ || boxes_ >= kMostBoxes) return give_up_target();
  if (patterns_->asked()) {
    if (std::optional<PatternAnswer> answer = patterns_->advance(budget)) {
      take_answer(std::move(*answer));
    }
    return;
  }
  if (open_.empty()) {
    accept(target_, std::move(nodes_));
    target_ = 0;
    return;
  }
  box_ = std::move(open_.back());
  open_.pop_back();
  ++boxes_;
  if (!exclude_by_prices(box_, budget)) {
    patterns_->ask(target_, box_, trees_ ? kBoxWork : root_work_);
  }
}

void BoundProver::take_answer(PatternAnswer answer) {
  if (answer.kind == PatternAnswer::Kind::kExcluded) {
    nodes_.push_back(std::move(answer.leaf));
    return;
  }
  if (answer.kind == PatternAnswer::Kind::kUnknown) cut_short_ = true;
  if (answer.plan.shares.empty() || !trees_ || !branch(box_, answer.plan)) {
    give_up_target();
  }
}

bool BoundProver::exclude_by_prices(const Box& box, Budget& budget) {
  const AggregateBound found = aggregate_bound(*rows_, target_, box, budget);
  if (found.bound <= target_ * (1 + kRounding)) return false;
  BoundNode leaf;
  leaf.prices = found.prices;
  nodes_.push_back(std::move(leaf));
  return true;
}

// Cuts at the table whose mix of choices differs most in load and memory; where no table mixes
// choices, at one whose choice is in several places.
bool BoundProver::branch(const Box& box, const FractionalPlan& plan) {
  Cut best;
  best.width = 1e-9;
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    for (const bool by_memory : {false, true}) {
      Cut cut = cut_of_choices(table, by_memory, box, plan.shares);
      if (cut.width > best.width) best = std::move(cut);
    }
  }
  for (std::size_t table = 0; best.first.empty() && table < model_->num_tables(); ++table) {
    Cut cut = cut_of_places(table, box, plan);
    if (cut.width > best.width) best = std::move(cut);
  }
  if (best.first.empty()) return false;
  BoundNode node;
  node.is_leaf = false;
  node.table = model_->table(best.table);
  Box first = box;
  Box second = box;
  const std::uint32_t begin = model_->first_choice(best.table);
  for (std::uint32_t i = 0; i < model_->choices(best.table).size(); ++i)
    first[begin + i] = 0;
  for (const auto& [choice, zone] : best.first) {
    node.parts.push_back({model_->choices()[choice].option, zone});
    first[choice] = box[choice] & zone;
    second[choice] = box[choice] & ~zone;
  }
  nodes_.push_back(std::move(node));
  open_.push_back(std::move(second));
  open_.push_back(std::move(first));
  return true;
}

// Between the choices below and those above the mix.
BoundProver::Cut BoundProver::cut_of_choices(std::size_t table, bool by_memory, const Box& box,
                                             const std::vector<double>& shares) const {
  const auto size = [&](std::uint32_t choice) {
    const Choice& own = model_->choices()[choice];
    return by_memory ? static_cast<double>(own.hbm_bytes) / room_ : own.load / (target_ * ranks_);
  };
  Cut cut;
  cut.table = table;
  double mean = 0;
  const std::uint32_t begin = model_->first_choice(table);
  const auto end = static_cast<std::uint32_t>(begin + model_->choices(table).size());
  for (std::uint32_t choice = begin; choice < end; ++choice)
    mean += shares[choice] * size(choice);
  bool any_above = false;
  for (std::uint32_t choice = begin; choice < end; ++choice) {
    if (box[choice] == 0) continue;
    cut.width += shares[choice] * std::abs(size(choice) - mean);
    if (size(choice) <= mean) cut.first.emplace_back(choice, box[choice]);
    any_above = any_above || size(choice) > mean;
  }
  if (!any_above || cut.first.empty()) cut.width = 0;
  return cut;
}

// Between the place that holds most of the table's choice and the others.
BoundProver::Cut BoundProver::cut_of_places(std::size_t table, const Box& box,
                                            const FractionalPlan& plan) const {
  Cut cut;
  cut.table = table;
  const std::uint32_t begin = model_->first_choice(table);
  for (std::uint32_t choice = begin; choice < begin + model_->choices(table).size(); ++choice) {
    if (plan.shares[choice] < 0.5) continue;
    double all = 0;
    double most = 0;
    Zone fullest = 0;
    for (const Zone place : rows_->places(choice)) {
      if ((place & box[choice]) == 0) continue;
      double here = 0;
      for (std::uint32_t r = rows_->first_row(choice); r < rows_->first_row(choice + 1); ++r) {
        for (std::uint32_t c = 0; c < rows_->classes().size(); ++c) {
          if ((place >> c & 1) != 0) here += plan.shards[r][c] * rows_->rows()[r].load;
        }
      }
      all += here;
      if (here > most || fullest == 0) {
        most = std::max(most, here);
        fullest = place;
      }
    }
    if (fullest == 0 || (box[choice] & ~fullest) == 0) continue;
    // Choices that may be elsewhere must be cut even where all of one is in one place.
    cut.width = (all - most + 1e-3 * all) / (target_ * ranks_);
    cut.first.assign(1, {choice, fullest});
    return cut;
  }
  return cut;
}

// A target that no tree over all hosts alike can prove may need to tell them apart.
void BoundProver::give_up_target() {
  if (target_ <= rating_ && trees_ && !hosts_parted_ && BoundRows::can_part_hosts(*model_)) {
    part_hosts();
  } else if (target_ <= rating_) {
    ceiling_ = target_;
  }
  target_ = 0;
  open_.clear();
  patterns_->drop();
}

void BoundProver::part_hosts() {
  hosts_parted_ = true;
  rows_ = std::make_unique<BoundRows>(*model_, true);
  patterns_ = std::make_unique<PatternBound>(*rows_);
}

}  // namespace shardwright::embedding
