#include "search/operators/solve/exact/dual/chain_line.h"

#include <cstddef>
#include <span>

namespace shardwright::operators {
namespace {

using Link = MessagePassing::Link;

double share(const MessagePassing& messages, std::uint32_t node) {
  return 1.0 / static_cast<double>(messages.num_chains(node));
}

// The first of the strategies with slack 0.
std::uint32_t least_slack(const MessagePassing& messages, std::uint32_t node) {
  std::uint32_t least = 0;
  for (std::uint32_t s = 1; s < messages.instance().num_strategies(node); ++s) {
    if (messages.slack(node, s) < messages.slack(node, least)) least = s;
  }
  return least;
}

// Where a chain that is at `strategy` goes along the link. The pass backward has made what follows
// the other node cost nothing.
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

}  // namespace shardwright::operators
