#include "search/operators/solve/message_passing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace shardwright::operators {
namespace {

// Returns the least sum a[i] + b[i]. Four independent minima run in parallel.
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

using Link = MessagePassing::Link;

double share(const MessagePassing& messages, std::uint32_t node) {
  return 1.0 / static_cast<double>(messages.num_chains(node));
}

// Returns the first strategy of least slack, which is 0.
std::uint32_t least_slack(const MessagePassing& messages, std::uint32_t node) {
  std::uint32_t least = 0;
  for (std::uint32_t s = 1; s < messages.instance().num_strategies(node); ++s) {
    if (messages.slack(node, s) < messages.slack(node, least)) least = s;
  }
  return least;
}

// Returns the strategy that a cheapest chain takes at the link's other node, given `strategy` at
// this node. After a backward pass, the rest of the chain costs 0.
std::uint32_t next_strategy(const MessagePassing& messages, const Link& link,
                            std::uint32_t strategy) {
  const double part = share(messages, link.other);
  double least = kForbidden;
  std::uint32_t next = 0;
  for (std::uint32_t s = 0; s < messages.instance().num_strategies(link.other); ++s) {
    const double cost = link.cost(strategy, s) - messages.message(link.to_other + s) +
                        part * messages.slack(link.other, s);
    if (cost >= least) continue;
    least = cost;
    next = s;
  }
  return next;
}

}  // namespace

MessagePassing::MessagePassing(const CostInstance& instance, std::span<const double> prices)
    : instance_(&instance), links_(instance.num_nodes()), earlier_(instance.num_nodes(), 0) {
  make_links();
  join_chains();
  std::size_t size = 0;
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    first_cost_.push_back(size);
    size += instance.num_strategies(node);
  }
  visited_ = links_.size();
  costs_.assign(size, 0);
  slack_.assign(size, 0);
  set_prices(prices);
}

void MessagePassing::make_links() {
  std::size_t messages = 0;
  for (const CostInstance::Edge& edge : instance_->edges()) {
    const std::size_t rows = instance_->num_strategies(edge.first);
    const std::size_t columns = instance_->num_strategies(edge.second);
    const double* costs = instance_->matrix(edge).data();
    const std::size_t to_first = messages;
    const std::size_t to_second = messages + rows;
    messages += rows + columns;
    links_[edge.first].push_back({edge.second, to_first, to_second, costs, columns, 1, 0, 0});
    links_[edge.second].push_back({edge.first, to_second, to_first, costs, 1, columns, 0, 0});
  }
  messages_.assign(messages, 0);
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    const auto later = std::stable_partition(links_[node].begin(), links_[node].end(),
                                             [&](const Link& link) { return link.other < node; });
    earlier_[node] = static_cast<std::uint32_t>(later - links_[node].begin());
  }
}

// Chain i of a node comes from its i-th earlier neighbour and goes on to its i-th later neighbour.
void MessagePassing::join_chains() {
  std::vector<std::size_t> chains(
      messages_.size());  // where the message to a node begins: its chain
  first_chain_.assign(1, 0);
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    const std::size_t earlier = earlier_[node];
    const std::size_t later = links_[node].size() - earlier;
    for (std::size_t l = 0; l < links_[node].size(); ++l) {
      Link& link = links_[node][l];
      link.own_chain = first_chain_[node] + (l < earlier ? l : l - earlier);
      chains[link.to_own] = link.own_chain;
    }
    first_chain_.push_back(first_chain_[node] + std::max<std::size_t>({1, earlier, later}));
  }
  for (std::vector<Link>& links : links_) {
    for (Link& link : links)
      link.other_chain = chains[link.to_other];
  }
}

// Sets gathered_ to the node's costs plus all messages to the node.
void MessagePassing::gather(std::uint32_t node) {
  const std::uint32_t size = instance_->num_strategies(node);
  const double* costs = costs_.data() + first_cost_[node];
  gathered_.assign(costs, costs + size);
  for (const Link& link : links_[node]) {
    for (std::uint32_t s = 0; s < size; ++s)
      gathered_[s] += messages_[link.to_own + s];
  }
}

// Sends a message along the link. Subtracts its least element from all elements and returns it.
double MessagePassing::send(std::uint32_t node, const Link& link, double share) {
  const std::uint32_t size = instance_->num_strategies(node);
  const std::uint32_t other_size = instance_->num_strategies(link.other);
  double* to_other = messages_.data() + link.to_other;
  const double* to_own = messages_.data() + link.to_own;
  sent_.resize(size);
  for (std::uint32_t s = 0; s < size; ++s) {
    const double own = share * gathered_[s] - to_own[s];
    sent_[s] = own < kForbidden ? own : kForbidden;
  }
  // In both branches, the inner loop reads contiguous entries of the matrix.
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

void MessagePassing::take(double least) {
  sum_ += least;
  magnitude_ += std::abs(least);
}

void MessagePassing::begin_pass(bool forward) {
  forward_ = forward;
  visited_ = 0;
  sum_ = magnitude_ = 0;
  base_ = -granted_;
}

// After a backward pass, the sum of the subtracted minima equals the sum of the chains' minima.
double MessagePassing::pass_bound() const {
  // Allowance for rounding, relative to the sum of magnitudes.
  constexpr double kRounding = 1e-13;
  return sum_ - granted_ - kRounding * (magnitude_ + granted_);
}

std::uint64_t MessagePassing::visit(std::uint64_t entries) {
  std::uint64_t read = 0;
  while (!is_pass_over() && read < entries) {
    const std::size_t node = forward_ ? visited_ : links_.size() - 1 - visited_;
    read += visit_node(static_cast<std::uint32_t>(node));
    ++visited_;
  }
  return read;
}

// Returns the number of matrix entries read.
std::uint64_t MessagePassing::visit_node(std::uint32_t node) {
  gather(node);
  const double least = *std::min_element(gathered_.begin(), gathered_.end());
  for (double& cost : gathered_)
    cost -= least;
  take(least);
  base_ += least;
  if (!forward_) {
    std::copy(gathered_.begin(), gathered_.end(),
              slack_.begin() + static_cast<std::ptrdiff_t>(first_cost_[node]));
  }
  const std::size_t begin = forward_ ? earlier_[node] : 0;
  const std::size_t end = forward_ ? links_[node].size() : earlier_[node];
  const double share = 1.0 / static_cast<double>(num_chains(node));
  std::uint64_t entries = 0;
  for (std::size_t l = begin; l < end; ++l) {
    const Link& link = links_[node][l];
    take(send(node, link, share));
    entries += gathered_.size() * instance_->num_strategies(link.other);
  }
  return entries;
}

double MessagePassing::pass(bool forward) {
  begin_pass(forward);
  visit(~std::uint64_t{0});
  return pass_bound();
}

// Each node takes the best strategy given earlier neighbours' choices and later ones' messages.
std::vector<std::uint32_t> MessagePassing::decode() const {
  std::vector<std::uint32_t> choice(links_.size());
  std::vector<double> sums;
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    const double* costs = costs_.data() + first_cost_[node];
    sums.assign(costs, costs + instance_->num_strategies(node));
    for (const Link& link : links_[node]) {
      for (std::uint32_t s = 0; s < sums.size(); ++s) {
        sums[s] +=
            link.other < node ? link.cost(s, choice[link.other]) : messages_[link.to_own + s];
      }
    }
    choice[node] =
        static_cast<std::uint32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
  }
  return choice;
}

void MessagePassing::set_prices(std::span<const double> prices) {
  std::vector<double> sums(prices.size() + 1, 0);
  granted_ = 0;
  for (std::size_t t = 0; t < prices.size(); ++t) {
    sums[t + 1] = sums[t] + prices[t];
    granted_ += prices[t] * static_cast<double>(instance_->limits()[t]);
  }
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

void MessagePassing::save(State& state) const {
  state.messages = messages_;
  state.slack = slack_;
  state.base = base_;
}

void MessagePassing::restore(const State& state) {
  messages_ = state.messages;
  slack_ = state.slack;
  base_ = state.base;
}

ChainChoice cheapest_chains(const MessagePassing& messages) {
  const auto nodes = static_cast<std::uint32_t>(messages.instance().num_nodes());
  ChainChoice choice(messages.first_chain(nodes));
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const std::size_t earlier = messages.num_earlier(node);
    const std::size_t first = messages.first_chain(node);
    if (earlier < messages.num_chains(node)) {
      const std::uint32_t start = least_slack(messages, node);
      for (std::size_t c = earlier; c < messages.num_chains(node); ++c)
        choice[first + c] = start;
    }
    for (const Link& link : messages.links(node).subspan(earlier))
      choice[link.other_chain] = next_strategy(messages, link, choice[link.own_chain]);
  }
  return choice;
}

double chain_bound(const MessagePassing& messages, const ChainChoice& choice) {
  double sum = messages.base();
  const auto nodes = static_cast<std::uint32_t>(messages.instance().num_nodes());
  for (std::uint32_t node = 0; node < nodes; ++node) {
    double slack = 0;
    for (std::size_t c = messages.first_chain(node); c < messages.first_chain(node + 1); ++c)
      slack += messages.slack(node, choice[c]);
    sum += slack * share(messages, node);
    for (const Link& link : messages.links(node).subspan(messages.num_earlier(node))) {
      const std::uint32_t own = choice[link.own_chain];
      const std::uint32_t other = choice[link.other_chain];
      sum += link.cost(own, other) - messages.message(link.to_own + own) -
             messages.message(link.to_other + other);
    }
  }
  return sum;
}

std::vector<double> chain_excess(const MessagePassing& messages, const ChainChoice& choice) {
  const CostInstance& instance = messages.instance();
  const std::size_t size = instance.limits().size();
  std::vector<double> change(size + 1, 0);
  for (std::uint32_t node = 0; node < instance.num_nodes(); ++node) {
    for (const CostInstance::Usage& usage : instance.usages(node)) {
      double bytes = 0;
      for (std::size_t c = messages.first_chain(node); c < messages.first_chain(node + 1); ++c)
        bytes += static_cast<double>(instance.bytes(usage, choice[c]));
      bytes *= share(messages, node);
      change[usage.live.begin] += bytes;
      change[usage.live.end] -= bytes;
    }
  }
  std::vector<double> excess(size);
  double held = 0;
  for (std::size_t t = 0; t < size; ++t) {
    held += change[t];
    excess[t] = held - static_cast<double>(instance.limits()[t]);
  }
  return excess;
}

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

// Does a part of a pass. Forward and backward passes alternate.
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

// Decoding and chains each read all messages once. Every line reads two values per chain and node.
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

// Adds the line of the cheapest chains to the bundle and moves the prices. If the current prices
// gave a much worse bound, first restores the messages of the best bound. Returns the work.
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
