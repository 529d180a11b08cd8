#include "search/operators/solve/exact/dual/dual_ascent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace shardwright::operators {
namespace {

std::vector<double> resized(std::vector<double> prices, std::size_t size) {
  prices.resize(size, 0);
  return prices;
}

}  // namespace

DualAscent::DualAscent(const CostInstance& instance, std::vector<double> prices,
                       const DualAscentParameters& parameters)
    : parameters_(parameters),
      messages_(instance, resized(prices, instance.limits().size())),
      bundle_(resized(std::move(prices), instance.limits().size()), parameters.bundle),
      choice_(instance.num_nodes(), 0) {
  for (const CostInstance::Edge& edge : instance.edges())
    entries_ += instance.matrix(edge).size();
}

// Returns false if it was interrupted before the first bound.
bool DualAscent::sweep(int sweeps, Budget& budget) {
  at_prices_ = -std::numeric_limits<double>::infinity();
  int made = 0;
  for (; made < sweeps && !budget.interrupted(); ++made) {
    messages_.pass(true);
    previous_ = at_prices_;
    at_prices_ = messages_.pass(false);
    budget.spend(2 * entries_);
  }
  return made > 0;
}

void DualAscent::keep_best() {
  messages_.save(best_state_);
  best_previous_ = previous_;
  bound_ = at_prices_;
}

// Adds the line of the cheapest chains and moves the prices. Bad prices spoil the messages, which
// are then taken back. Returns the work of the step.
std::uint64_t DualAscent::take_line(double target) {
  const double best = bundle_.best_bound();
  ChainChoice chains = cheapest_chains(messages_);
  const std::size_t line = bundle_.add(at_prices_, chain_excess(messages_, chains));
  if (line == lines_.size()) lines_.emplace_back();
  lines_[line] = std::move(chains);
  if (best - at_prices_ > parameters_.spoiled * (target - best)) {
    messages_.restore(best_state_);
    bundle_.return_to_best();
  }
  std::vector<double> values;
  for (const ChainChoice& choice : lines_)
    values.push_back(chain_bound(messages_, choice));
  const std::uint64_t work = bundle_.move(values, target);
  messages_.set_prices(bundle_.prices());
  return work;
}

// Ends the ascent if a stretch of rounds closes too little of the gap.
void DualAscent::watch_progress(double target) {
  if (++rounds_ % parameters_.patience != 0) return;
  stalled_ = bound_ - watched_ < parameters_.progress * (target - watched_);
  watched_ = bound_;
}

void DualAscent::round(int sweeps, double target, Budget& budget) {
  if (!sweep(sweeps, budget)) return;
  choice_ = messages_.decode();
  if (rounds_ == 0 || at_prices_ > bound_) keep_best();
  if (std::isfinite(at_prices_) && !bundle_.prices().empty()) {
    budget.spend(take_line(target));
  }
  budget.spend(messages_.num_messages() * (lines_.size() + 1));
  watch_progress(target);
}

}  // namespace shardwright::operators
