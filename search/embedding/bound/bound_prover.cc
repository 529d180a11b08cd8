#include "search/embedding/bound/bound_prover.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardwright::embedding {
namespace {

// What the check of a certificate adds to a bound before it tests it, twice over.
constexpr double kRounding = 3e-9;
// Boxes that a target is worth.
constexpr std::size_t kMostBoxes = 4000;

}  // namespace

BoundProver::BoundProver(const ChoiceModel& model)
    : model_(&model), rows_(model), patterns_(rows_) {
  certificate_.class_of_rank = rows_.class_of_rank();
  BoundNode nothing;
  nothing.prices.resize(rows_.classes().size());
  certificate_.nodes.push_back(nothing);
}

void BoundProver::run(std::uint64_t work, double rating, Budget& budget) {
  rating_ = rating;
  if (certificate_.bound >= rating_ * (1 - kOptimal)) finished_ = true;
  const std::uint64_t end = budget.work_done() + work;
  while (!finished_ && budget.work_done() < end && !budget.interrupted())
    step(budget);
}

void BoundProver::step(Budget& budget) {
  constexpr double kWorthwhile = 1e-3;  // fall of the rating after which other choices may be out
  if (priced_rating_ == 0 || rating_ < priced_rating_ * (1 - kWorthwhile)) {
    prove_by_prices(budget);
  } else if (target_ == 0) {
    choose_target();
  } else {
    visit_box(budget);
  }
  if (certificate_.bound >= rating_ * (1 - kOptimal)) finished_ = true;
}

void BoundProver::prove_by_prices(Budget& budget) {
  const AggregateBound found = aggregate_bound(rows_, rating_, {}, budget);
  priced_rating_ = rating_;
  BoundNode leaf;
  leaf.prices = found.prices;
  accept(std::min(found.bound, rating_), {leaf});
}

void BoundProver::accept(double bound, std::vector<BoundNode> nodes) {
  const double rounded = bound * (1 - kRounding);
  if (!(rounded > certificate_.bound)) return;
  certificate_.bound = rounded;
  certificate_.nodes = std::move(nodes);
}

// At first the one that proves the rating optimal; where that fails, halfway down to the bound.
void BoundProver::choose_target() {
  constexpr double kLeastStep = 2e-5;  // of the rating
  const double goal = rating_ * (1 - 0.9 * kOptimal);
  if (ceiling_ == 0 || ceiling_ > rating_) {
    target_ = goal;
  } else {
    if (ceiling_ - certificate_.bound < kLeastStep * rating_) {
      finished_ = true;
      return;
    }
    target_ = (ceiling_ + certificate_.bound) / 2;
  }
  begin_tree();
}

void BoundProver::begin_tree() {
  Box root;
  root.allowed.resize(model_->choices().size());
  for (std::uint32_t choice = 0; choice < root.allowed.size(); ++choice)
    root.allowed[choice] = rows_.is_possible(choice, target_);
  nodes_.clear();
  open_.assign(1, std::move(root));
  boxes_ = 0;
}

void BoundProver::visit_box(Budget& budget) {
  if (open_.empty()) {
    accept(target_, std::move(nodes_));
    target_ = 0;
    return;
  }
  // A better plan was found meanwhile, or this takes too long.
  if (target_ > rating_ || boxes_ >= kMostBoxes) return give_up_target();
  const Box box = std::move(open_.back());
  open_.pop_back();
  ++boxes_;
  if (exclude_by_prices(box, budget)) return;
  PatternAnswer answer = patterns_.decide(target_, box.allowed, budget);
  switch (answer.kind) {
    case PatternAnswer::Kind::kExcluded:
      nodes_.push_back(std::move(answer.leaf));
      break;
    case PatternAnswer::Kind::kPossible:
      if (!branch(box, answer.shares)) give_up_target();
      break;
    case PatternAnswer::Kind::kUnknown:
      if (!budget.interrupted()) give_up_target();
      break;
  }
}

bool BoundProver::exclude_by_prices(const Box& box, Budget& budget) {
  const AggregateBound found = aggregate_bound(rows_, target_, box.allowed, budget);
  if (found.bound <= target_ * (1 + kRounding)) return false;
  BoundNode leaf;
  leaf.prices = found.prices;
  nodes_.push_back(std::move(leaf));
  return true;
}

// Cuts at the table whose choices are mixed most: with the choice of the largest share, and
// without.
bool BoundProver::branch(const Box& box, const std::vector<double>& shares) {
  constexpr double kWhole = 1 - 1e-6;
  double least = kWhole;
  std::size_t table = model_->num_tables();
  std::uint32_t best = 0;
  for (std::size_t t = 0; t < model_->num_tables(); ++t) {
    double most = 0;
    std::uint32_t choice = 0;
    for (std::uint32_t i = 0; i < model_->choices(t).size(); ++i) {
      const std::uint32_t own = model_->first_choice(t) + i;
      if (shares[own] > most) {
        most = shares[own];
        choice = own;
      }
    }
    if (most < least) {
      least = most;
      table = t;
      best = choice;
    }
  }
  if (table == model_->num_tables()) return false;
  BoundNode cut;
  cut.is_leaf = false;
  cut.options.push_back(model_->choices()[best].option);
  cut.table = model_->table(table);
  nodes_.push_back(std::move(cut));
  Box without = box;
  Box with = box;
  for (std::uint32_t i = 0; i < model_->choices(table).size(); ++i) {
    const std::uint32_t own = model_->first_choice(table) + i;
    (own == best ? without : with).allowed[own] = false;
  }
  open_.push_back(std::move(without));
  open_.push_back(std::move(with));
  return true;
}

void BoundProver::give_up_target() {
  if (target_ <= rating_) ceiling_ = target_;
  target_ = 0;
  open_.clear();
}

}  // namespace shardwright::embedding
