#include "search/operators/aten/sieve/placement_messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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

PlacementMessages::PlacementMessages(const AtenModel& model) : model_(&model) {
  make_nodes();
  make_links();
  costs_ = own_;
  slack_ = own_;
}

void PlacementMessages::make_nodes() {
  const std::size_t size = model_->leaders.size();
  node_of_.resize(size);
  for (std::uint32_t v = 0; v < size; ++v) {
    if (model_->leaders[v] == v) {
      node_of_[v] = static_cast<std::uint32_t>(own_.size());
      own_.push_back(model_->costs[v]);
      continue;
    }
    node_of_[v] = node_of_[model_->leaders[v]];
    std::vector<double>& costs = own_[node_of_[v]];
    for (std::size_t s = 0; s < costs.size(); ++s)
      costs[s] += model_->costs[v][s];
  }
}

void PlacementMessages::make_links() {
  links_.resize(own_.size());
  for (const AtenTransfers::Edge& edge : model_->transfers.edges)
    add_link(edge);
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    const auto later = std::stable_partition(links_[node].begin(), links_[node].end(),
                                             [&](const Link& link) { return link.other < node; });
    earlier_.push_back(static_cast<std::uint32_t>(later - links_[node].begin()));
  }
}

void PlacementMessages::add_link(const AtenTransfers::Edge& edge) {
  const AtenTransfer& transfer = model_->transfers.transfers[edge.transfer];
  const std::uint32_t first = node_of_[edge.first];
  const std::uint32_t second = node_of_[edge.second];
  if (first == second) {
    for (std::uint32_t s = 0; s < own_[first].size(); ++s)
      own_[first][s] += transfer.cost(s, s);
    return;
  }
  const std::size_t to_first = messages_.size();
  const std::size_t to_second = to_first + transfer.rows;
  messages_.resize(to_second + transfer.columns, 0);
  const std::uint32_t* rows = transfer.row_of.data();
  const std::uint32_t* columns = transfer.column_of.data();
  links_[first].push_back({second, rows, columns, transfer.rows, transfer.columns,
                           transfer.costs.data(), true, to_first, to_second});
  links_[second].push_back({first, columns, rows, transfer.columns, transfer.rows,
                            transfer.costs.data(), false, to_second, to_first});
}

void PlacementMessages::set_prices(std::span<const double> prices, std::int64_t limit) {
  std::vector<double> sums(prices.size() + 1, 0);
  for (std::size_t t = 0; t < prices.size(); ++t)
    sums[t + 1] = sums[t] + prices[t];
  granted_ = sums.back() * static_cast<double>(limit);
  costs_ = own_;
  for (const AtenUsages::Usage& usage : model_->usages.usages) {
    const double price = sums[usage.live.end] - sums[usage.live.begin];
    if (price == 0) continue;
    std::vector<double>& costs = costs_[node_of_[usage.variable]];
    const std::vector<std::int64_t>& bytes = model_->usages.bytes[usage.bytes];
    for (std::size_t s = 0; s < costs.size(); ++s)
      costs[s] += price * static_cast<double>(bytes[s]);
  }
}

// Adds all messages to the node to its costs.
void PlacementMessages::gather(std::uint32_t node) {
  gathered_ = costs_[node];
  for (const Link& link : links_[node]) {
    const double* message = messages_.data() + link.to_own;
    for (std::size_t s = 0; s < gathered_.size(); ++s)
      gathered_[s] += message[link.own_group[s]];
  }
}

// Sends a message along the link and subtracts its least element, which is returned.
double PlacementMessages::send(std::uint32_t node, const Link& link, double share) {
  double* to_other = messages_.data() + link.to_other;
  const double* to_own = messages_.data() + link.to_own;
  sent_.assign(link.own_groups, kForbidden);
  for (std::size_t s = 0; s < own_[node].size(); ++s) {
    double& least = sent_[link.own_group[s]];
    least = std::min(least, gathered_[s]);
  }
  for (std::size_t g = 0; g < sent_.size(); ++g) {
    const double own = share * sent_[g] - to_own[g];
    sent_[g] = own < kForbidden ? own : kForbidden;
  }
  // Either way the inner loop runs along the rows of the table.
  if (!link.own_is_row) {
    for (std::uint32_t k = 0; k < link.other_groups; ++k)
      to_other[k] = least_sum(sent_.data(), link.costs + std::size_t{k} * link.own_groups,
                              link.own_groups);
  } else {
    std::fill(to_other, to_other + link.other_groups, kForbidden);
    for (std::uint32_t g = 0; g < link.own_groups; ++g) {
      const double own = sent_[g];
      if (own == kForbidden) continue;
      const double* row = link.costs + std::size_t{g} * link.other_groups;
      for (std::uint32_t k = 0; k < link.other_groups; ++k)
        to_other[k] = std::min(to_other[k], own + row[k]);
    }
  }
  const double least = *std::min_element(to_other, to_other + link.other_groups);
  for (std::uint32_t k = 0; k < link.other_groups; ++k)
    to_other[k] -= least;
  return least;
}

// What is subtracted from nodes and messages: after a pass backward the sum is that of the minima
// over the chains into which the edges are divided.
double PlacementMessages::pass(bool forward) {
  double sum = -granted_;
  double magnitude = std::abs(granted_);
  const auto take = [&](double least) {
    sum += least;
    magnitude += std::abs(least);
  };
  const auto nodes = static_cast<std::uint32_t>(links_.size());
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const std::uint32_t node = forward ? i : nodes - 1 - i;
    const std::size_t earlier = earlier_[node];
    const std::size_t links = links_[node].size();
    gather(node);
    const double least = *std::min_element(gathered_.begin(), gathered_.end());
    for (double& cost : gathered_)
      cost -= least;
    take(least);
    if (!forward) slack_[node] = gathered_;
    const std::size_t begin = forward ? earlier : 0;
    const std::size_t end = forward ? links : earlier;
    const double share =
        1.0 / static_cast<double>(std::max<std::size_t>({1, earlier, links - earlier}));
    for (std::size_t l = begin; l < end; ++l)
      take(send(node, links_[node][l], share));
  }
  // A generous allowance for rounding, relative to the magnitude of what was added up.
  constexpr double kRounding = 1e-13;
  return sum - kRounding * magnitude;
}

void PlacementMessages::sweep(int times) {
  double now = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < std::max(times, 2); ++i) {
    pass(true);
    previous_ = now;
    now = pass(false);
  }
  bound_ = now;
}

std::vector<std::uint32_t> PlacementMessages::decode() const {
  std::vector<std::uint32_t> by_node(links_.size());
  std::vector<double> sums;
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    sums = costs_[node];
    for (const Link& link : links_[node]) {
      for (std::uint32_t s = 0; s < sums.size(); ++s) {
        sums[s] += link.other < node ? link.cost(s, by_node[link.other])
                                     : messages_[link.to_own + link.own_group[s]];
      }
    }
    by_node[node] =
        static_cast<std::uint32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
  }
  std::vector<std::uint32_t> choice;
  for (const std::uint32_t node : node_of_)
    choice.push_back(by_node[node]);
  return choice;
}

}  // namespace shardwright::operators
