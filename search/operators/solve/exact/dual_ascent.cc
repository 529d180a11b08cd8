#include "search/operators/solve/exact/dual_ascent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace shardwright::operators {
namespace {

// The least sum of two columns. Four independent minima keep the processor from waiting.
double least_sum(const double* a, const double* b, std::size_t size) {
  std::array<double, 4> least;
  least.fill(kForbidden);
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    for (std::size_t k = 0; k < 4; ++k)
      least[k] = std::min(least[k], a[i + k] + b[i + k]);
  }
  for (; i < size; ++i)
    least[0] = std::min(least[0], a[i] + b[i]);
  return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

}  // namespace

DualAscent::DualAscent(const CostInstance& instance, std::vector<double> prices,
                       const DualAscentParameters& parameters)
    : instance_(&instance),
      parameters_(parameters),
      links_(instance.num_nodes()),
      earlier_(instance.num_nodes(), 0),
      prices_(std::move(prices)) {
  prices_.resize(instance.limits().size(), 0);
  best_prices_ = prices_;
  std::size_t messages = 0;
  for (const CostInstance::Edge& edge : instance.edges()) {
    const std::size_t rows = instance.num_strategies(edge.first);
    const std::size_t columns = instance.num_strategies(edge.second);
    const double* costs = instance.matrix(edge).data();
    const std::size_t to_first = messages;
    const std::size_t to_second = messages + rows;
    messages += rows + columns;
    links_[edge.first].push_back({edge.second, to_first, to_second, costs, columns, 1});
    links_[edge.second].push_back({edge.first, to_second, to_first, costs, 1, columns});
  }
  messages_.assign(messages, 0);
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    const auto later = std::stable_partition(links_[node].begin(), links_[node].end(),
                                             [&](const Link& link) { return link.other < node; });
    earlier_[node] = static_cast<std::uint32_t>(later - links_[node].begin());
    first_cost_.push_back(costs_.size());
    const auto own = instance.costs(node);
    costs_.insert(costs_.end(), own.begin(), own.end());
  }
  slack_.assign(costs_.size(), 0);
  choice_.assign(instance.num_nodes(), 0);
  apply_prices();
}

// Adds all messages to the node to its costs.
void DualAscent::gather(std::uint32_t node) {
  const std::uint32_t size = instance_->num_strategies(node);
  const double* costs = costs_.data() + first_cost_[node];
  gathered_.assign(costs, costs + size);
  for (const Link& link : links_[node]) {
    for (std::uint32_t s = 0; s < size; ++s)
      gathered_[s] += messages_[link.to_own + s];
  }
}

// Sends a message along the link and subtracts its least element, which is returned.
double DualAscent::send(std::uint32_t node, const Link& link, double share) {
  const std::uint32_t size = instance_->num_strategies(node);
  const std::uint32_t other_size = instance_->num_strategies(link.other);
  double* to_other = messages_.data() + link.to_other;
  const double* to_own = messages_.data() + link.to_own;
  sent_.resize(size);
  for (std::uint32_t s = 0; s < size; ++s) {
    const double own = share * gathered_[s] - to_own[s];
    sent_[s] = own < kForbidden ? own : kForbidden;
  }
  // Either way the inner loop runs along the rows of the matrix.
  if (link.own_stride == 1) {
    for (std::uint32_t k = 0; k < other_size; ++k) {
      to_other[k] = least_sum(sent_.data(), link.costs + k * link.other_stride, size);
    }
  } else {
    std::fill(to_other, to_other + other_size, kForbidden);
    for (std::uint32_t s = 0; s < size; ++s) {
      const double own = sent_[s];
      if (own == kForbidden) continue;
      const double* row = link.costs + s * link.own_stride;
      for (std::uint32_t k = 0; k < other_size; ++k)
        to_other[k] = std::min(to_other[k], own + row[k]);
    }
  }
  const double least = *std::min_element(to_other, to_other + other_size);
  for (std::uint32_t k = 0; k < other_size; ++k)
    to_other[k] -= least;
  return least;
}

// Returns the sum of all that was subtracted from nodes and messages. After a pass forward and one
// backward it is a lower bound: the edges are divided into chains of nodes in order, and the sum is
// that of the minima over the chains.
double DualAscent::pass(bool forward) {
  double sum = 0;
  double magnitude = 0;
  const auto take = [&](double least) {
    sum += least;
    magnitude += std::abs(least);
  };
  const auto nodes = static_cast<std::uint32_t>(links_.size());
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const std::uint32_t node = forward ? i : nodes - 1 - i;
    const std::size_t earlier = earlier_[node];
    const std::size_t later = links_[node].size() - earlier;
    gather(node);
    const double least = *std::min_element(gathered_.begin(), gathered_.end());
    if (!forward) {
      for (std::uint32_t s = 0; s < gathered_.size(); ++s) {
        slack_[first_cost_[node] + s] = gathered_[s] - least;
      }
    }
    for (double& cost : gathered_)
      cost -= least;
    take(least);
    if ((forward ? later : earlier) == 0) continue;
    const double share = 1.0 / static_cast<double>(std::max(earlier, later));
    const std::size_t begin = forward ? earlier : 0;
    const std::size_t end = forward ? links_[node].size() : earlier;
    for (std::size_t l = begin; l < end; ++l)
      take(send(node, links_[node][l], share));
  }
  for (std::size_t t = 0; t < prices_.size(); ++t) {
    take(-prices_[t] * static_cast<double>(instance_->limits()[t]));
  }
  // A generous allowance for rounding, relative to the magnitude of what was added up.
  constexpr double kRounding = 1e-13;
  return sum - kRounding * magnitude;
}

// Each node takes the best strategy given the choice of earlier neighbours and the messages of
// later ones.
void DualAscent::decode() {
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    const double* costs = costs_.data() + first_cost_[node];
    gathered_.assign(costs, costs + instance_->num_strategies(node));
    for (const Link& link : links_[node]) {
      for (std::uint32_t s = 0; s < gathered_.size(); ++s) {
        gathered_[s] +=
            link.other < node
                ? link.costs[s * link.own_stride + choice_[link.other] * link.other_stride]
                : messages_[link.to_own + s];
      }
    }
    choice_[node] = static_cast<std::uint32_t>(
        std::min_element(gathered_.begin(), gathered_.end()) - gathered_.begin());
  }
}

void DualAscent::apply_prices() {
  std::vector<double> sums(prices_.size() + 1, 0);
  for (std::size_t t = 0; t < prices_.size(); ++t)
    sums[t + 1] = sums[t] + prices_[t];
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    double* costs = costs_.data() + first_cost_[node];
    const auto own = instance_->costs(node);
    std::copy(own.begin(), own.end(), costs);
    for (const CostInstance::Usage& usage : instance_->usages(node)) {
      const double price = sums[usage.live.end] - sums[usage.live.begin];
      if (price == 0) continue;
      for (std::uint32_t s = 0; s < own.size(); ++s) {
        costs[s] += price * static_cast<double>(instance_->bytes(usage, s));
      }
    }
  }
}

// A step towards the target (Polyak). Moves the prices that are not 0 and, of each stretch of time,
// that of the worst exceeded time point.
void DualAscent::move_prices(double target) {
  const std::size_t size = prices_.size();
  const std::vector<std::int64_t> held = held_bytes(*instance_, choice_);
  std::vector<double> excess(size);
  for (std::size_t t = 0; t < size; ++t) {
    excess[t] = static_cast<double>(held[t] - instance_->limits()[t]);
  }
  const std::size_t stretch = std::max<std::size_t>(1, size / parameters_.stretches);
  double norm = 0;
  std::vector<std::size_t> moved;
  for (std::size_t begin = 0; begin < size; begin += stretch) {
    const auto end = static_cast<std::ptrdiff_t>(std::min(size, begin + stretch));
    const auto most = static_cast<std::size_t>(
        std::max_element(excess.begin() + static_cast<std::ptrdiff_t>(begin),
                         excess.begin() + end) -
        excess.begin());
    for (auto t = begin; t < static_cast<std::size_t>(end); ++t) {
      if (prices_[t] > 0 || (t == most && excess[t] > 0)) {
        moved.push_back(t);
        norm += excess[t] * excess[t];
      }
    }
  }
  if (norm == 0) return;
  const double step = step_ * std::max(target - bound_, std::abs(target) * 1e-9) / norm;
  for (const std::size_t t : moved)
    prices_[t] = std::max(0.0, prices_[t] + step * excess[t]);
  apply_prices();
}

void DualAscent::round(int sweeps, double target, Budget& budget) {
  double bound = 0;
  for (int i = 0; i < sweeps && !budget.interrupted(); ++i) {
    pass(true);
    last_bound_ = bound;
    bound = pass(false);
  }
  std::uint64_t entries = 0;
  for (const CostInstance::Edge& edge : instance_->edges())
    entries += instance_->matrix(edge).size();
  budget.spend(entries * static_cast<std::uint64_t>(2 * sweeps + 1));
  const double progress = parameters_.progress * std::max(0.0, target - bound_);
  idle_ = bound > bound_ + progress ? 0 : idle_ + 1;
  if (bound > bound_) {
    bound_ = bound;
    best_prices_ = prices_;
  }
  decode();
  if (prices_.empty()) {
    if (idle_ > 0) step_ /= 2;
    return;
  }
  if (idle_ >= parameters_.patience) {
    step_ *= parameters_.step_decay;
    idle_ = 0;
    prices_ = best_prices_;
    apply_prices();
  } else {
    move_prices(target);
  }
}

}  // namespace shardwright::operators
