#include "search/operators/solve/exact/dual_ascent.h"

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
      bounds_{0.0},
      choice_(instance.num_nodes(), 0),
      best_choice_(choice_) {
  for (const CostInstance::Edge& edge : instance.edges())
    entries_ += instance.matrix(edge).size();
  messages_.save(best_state_);
}

// A part of a pass, forward and backward in turn.
std::uint64_t DualAscent::pass(std::uint64_t work) {
  const bool forward = passes_ % 2 == 0;
  if (messages_.is_pass_over()) messages_.begin_pass(forward);
  const std::uint64_t done = messages_.visit(work);
  if (!messages_.is_pass_over()) return done;
  ++passes_;
  if (!forward) {
    previous_ = passes_ == 2 ? -std::numeric_limits<double>::infinity() : at_prices_;
    at_prices_ = messages_.pass_bound();
  }
  return done;
}

std::uint64_t DualAscent::work_of_round(int sweeps) const {
  return 2 * entries_ * static_cast<std::uint64_t>(sweeps) + work_of_lines();
}

// Choices follow all messages twice, and every line looks at two ends of all chains.
std::uint64_t DualAscent::work_of_lines() const {
  const std::size_t chains =
      messages_.first_chain(static_cast<std::uint32_t>(messages_.instance().num_nodes()));
  return 2 * messages_.num_messages() + 2 * lines_.size() * chains;
}

void DualAscent::keep_best() {
  messages_.save(best_state_);
  best_previous_ = previous_;
  bound_ = std::max(bound_, at_prices_);
  best_choice_ = choice_;
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

bool DualAscent::stalled(int stretch, double progress) const {
  const std::size_t rounds = bounds_.size() - 1;
  const auto length = static_cast<std::size_t>(stretch);
  if (rounds == 0 || rounds % length != 0) return false;
  const double before = bounds_[rounds - length];
  return bound_ - before < progress * (target_ - before);
}

void DualAscent::round(int sweeps, double target, Budget& budget) {
  constexpr auto kWholePass = ~std::uint64_t{0};
  do {
    if (passes_ % 2 == 0 && messages_.is_pass_over() && budget.interrupted()) {
      if (passes_ > 0) budget.spend(end_round(target));
      return;
    }
    budget.spend(step(sweeps, target, kWholePass));
  } while (!is_between_rounds());
}

std::uint64_t DualAscent::step(int sweeps, double target, std::uint64_t work) {
  const bool is_first = bounds_.size() == 1;
  if (passes_ >= 2 * (is_first ? std::max(sweeps, parameters_.first_sweeps) : sweeps)) {
    return end_round(target);
  }
  return pass(work);
}

// Precondition: the last pass was backward.
std::uint64_t DualAscent::end_round(double target) {
  passes_ = 0;
  choice_ = messages_.decode();
  if (!(at_prices_ <= bundle_.best_bound())) keep_best();
  std::uint64_t work = work_of_lines();
  if (std::isfinite(at_prices_) && !bundle_.prices().empty()) work += take_line(target);
  target_ = target;
  bounds_.push_back(bound_);
  return work;
}

}  // namespace shardwright::operators
