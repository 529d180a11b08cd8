#include "search/operators/aten/sieve/placement_messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace shardwright::operators {
namespace {

// More than a sum in single precision can be rounded up by.
constexpr double kRoundingOfSum = 0x1p-23;

constexpr float kNever = std::numeric_limits<float>::infinity();

// For every column, the least sum of a row's entry and what the row sends. Four rows at a time, so
// that results are read and written less often.
void least_rows(const std::vector<float>& sent, const std::vector<std::uint32_t>& rows,
                const float* costs, std::vector<float>& least) {
  const std::size_t columns = least.size();
  float* const out = least.data();
  std::fill(least.begin(), least.end(), kNever);
  std::size_t r = 0;
  for (; r + 4 <= rows.size(); r += 4) {
    const float* const a = costs + rows[r] * columns;
    const float* const b = costs + rows[r + 1] * columns;
    const float* const c = costs + rows[r + 2] * columns;
    const float* const d = costs + rows[r + 3] * columns;
    const float at_a = sent[rows[r]];
    const float at_b = sent[rows[r + 1]];
    const float at_c = sent[rows[r + 2]];
    const float at_d = sent[rows[r + 3]];
    for (std::size_t k = 0; k < columns; ++k) {
      const float ab = std::min(at_a + a[k], at_b + b[k]);
      const float cd = std::min(at_c + c[k], at_d + d[k]);
      out[k] = std::min(out[k], std::min(ab, cd));
    }
  }
  for (; r < rows.size(); ++r) {
    const float* const row = costs + rows[r] * columns;
    const float own = sent[rows[r]];
    for (std::size_t k = 0; k < columns; ++k)
      out[k] = std::min(out[k], own + row[k]);
  }
}

float round_down(double cost) {
  const auto rounded = static_cast<float>(cost);
  return static_cast<double>(rounded) > cost
             ? std::nextafter(rounded, -std::numeric_limits<float>::infinity())
             : rounded;
}

}  // namespace

// The costs of a transfer in single precision, from either end.
struct PlacementMessages::Table {
  explicit Table(const AtenTransfer& transfer) {
    for (const double cost : transfer.costs)
      forward.push_back(round_down(cost));
    for (std::size_t column = 0; column < transfer.columns; ++column) {
      for (std::size_t row = 0; row < transfer.rows; ++row)
        backward.push_back(forward[row * transfer.columns + column]);
    }
  }

  std::vector<float> forward;   // by row, then by column
  std::vector<float> backward;  // by column, then by row
};

PlacementMessages::PlacementMessages(const AtenModel& model, std::span<const std::uint32_t> leaders)
    : model_(&model) {
  auto tables = std::make_shared<std::vector<Table>>();
  for (const AtenTransfer& transfer : model.transfers.transfers)
    tables->emplace_back(transfer);
  tables_ = std::move(tables);
  make_nodes(leaders);
  make_links();
  costs_ = own_;
  slack_ = own_;
}

PlacementMessages::PlacementMessages(const PlacementMessages& other,
                                     std::span<const std::uint32_t> leaders)
    : model_(other.model_), tables_(other.tables_) {
  make_nodes(leaders);
  make_links();
  start_from(other);
  costs_ = own_;
  slack_ = own_;
}

void PlacementMessages::make_nodes(std::span<const std::uint32_t> leaders) {
  for (std::uint32_t v = 0; v < leaders.size(); ++v) {
    if (leaders[v] == v) {
      node_of_.push_back(static_cast<std::uint32_t>(own_.size()));
      own_.push_back(model_->costs[v]);
      continue;
    }
    node_of_.push_back(node_of_[leaders[v]]);
    std::vector<double>& costs = own_[node_of_[v]];
    for (std::size_t s = 0; s < costs.size(); ++s)
      costs[s] += model_->costs[v][s];
  }
}

void PlacementMessages::make_links() {
  links_.resize(own_.size());
  std::map<std::array<std::uint32_t, 3>, EdgePlace> known;
  std::vector<EdgePlace*> placed;  // by edge
  for (const AtenTransfers::Edge& edge : model_->transfers.edges) {
    const AtenTransfer& transfer = model_->transfers.transfers[edge.transfer];
    const std::uint32_t first = node_of_[edge.first];
    const std::uint32_t second = node_of_[edge.second];
    placed.push_back(nullptr);
    if (first == second) {
      for (std::uint32_t s = 0; s < own_[first].size(); ++s)
        own_[first][s] += transfer.cost(s, s);
      continue;
    }
    const auto [at, is_new] = known.try_emplace({first, second, edge.transfer});
    placed.back() = &at->second;
    ++at->second.edges;
    if (!is_new) continue;
    at->second.to_first = messages_.size();
    at->second.to_second = messages_.size() + transfer.rows;
    messages_.resize(messages_.size() + transfer.rows + transfer.columns, 0);
  }
  for (const auto& [key, place] : known)
    add_links(key[0], key[1], key[2], place);
  for (const EdgePlace* place : placed)
    places_.push_back(place == nullptr ? EdgePlace() : *place);
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    const auto later = std::stable_partition(links_[node].begin(), links_[node].end(),
                                             [&](const Link& link) { return link.other < node; });
    earlier_.push_back(static_cast<std::uint32_t>(later - links_[node].begin()));
  }
}

void PlacementMessages::add_links(std::uint32_t first, std::uint32_t second, std::uint32_t number,
                                  const EdgePlace& place) {
  const AtenTransfer& transfer = model_->transfers.transfers[number];
  const std::uint32_t* rows = transfer.row_of.data();
  const std::uint32_t* columns = transfer.column_of.data();
  const Table& table = (*tables_)[number];
  links_[first].push_back({second, rows, columns, transfer.rows, transfer.columns,
                           table.forward.data(), place.edges, place.to_first, place.to_second});
  links_[second].push_back({first, columns, rows, transfer.columns, transfer.rows,
                            table.backward.data(), place.edges, place.to_second, place.to_first});
}

void PlacementMessages::start_from(const PlacementMessages& other) {
  for (std::size_t e = 0; e < places_.size(); ++e) {
    const EdgePlace& own = places_[e];
    const EdgePlace& from = other.places_[e];
    if (own.edges == 0 || from.edges == 0) continue;
    const AtenTransfer& transfer = model_->transfers.transfers[model_->transfers.edges[e].transfer];
    const double share = own.edges / from.edges;
    for (std::size_t i = 0; i < transfer.rows; ++i)
      messages_[own.to_first + i] = share * other.messages_[from.to_first + i];
    for (std::size_t i = 0; i < transfer.columns; ++i)
      messages_[own.to_second + i] = share * other.messages_[from.to_second + i];
  }
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
  grouped_.assign(link.own_groups, kForbidden);
  for (std::size_t s = 0; s < own_[node].size(); ++s) {
    double& least = grouped_[link.own_group[s]];
    least = std::min(least, gathered_[s]);
  }
  sent_.clear();
  sending_.clear();
  for (std::uint32_t g = 0; g < grouped_.size(); ++g) {
    const double own = (share * grouped_[g] - to_own[g]) / link.edges;
    sent_.push_back(own < kForbidden ? round_down(own) : kNever);
    if (sent_.back() < kNever) sending_.push_back(g);
  }
  least_.resize(link.other_groups);
  least_rows(sent_, sending_, link.costs, least_);
  for (std::size_t k = 0; k < least_.size(); ++k) {
    const auto sum = static_cast<double>(least_[k]);
    to_other[k] =
        sum < kForbidden ? link.edges * (sum - kRoundingOfSum * std::abs(sum)) : kForbidden;
  }
  const double least = *std::min_element(to_other, to_other + link.other_groups);
  for (std::uint32_t k = 0; k < link.other_groups; ++k)
    to_other[k] -= least;
  return least;
}

// What is subtracted from nodes and messages: after a pass backward the sum is that of the minima
// over the chains into which the edges are divided.
double PlacementMessages::pass(bool forward, double haste) {
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
    const auto shares = [](std::size_t sides) {
      return 1.0 / static_cast<double>(std::max<std::size_t>(1, sides));
    };
    const double share =
        (1 - haste) * shares(std::max(earlier, links - earlier)) + haste * shares(end - begin);
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
    pass(true, 0);
    previous_ = now;
    now = pass(false, 0);
  }
  bound_ = now;
}

void PlacementMessages::hurry(int times, double haste) {
  for (int i = 0; i < times; ++i) {
    pass(true, haste);
    pass(false, haste);
  }
}

void PlacementMessages::exclude_above(double cost) {
  for (std::size_t node = 0; node < own_.size(); ++node) {
    for (std::size_t s = 0; s < own_[node].size(); ++s) {
      if (previous_ + slack_[node][s] <= cost) continue;
      own_[node][s] = kForbidden;
      costs_[node][s] = kForbidden;
      slack_[node][s] = kForbidden;
    }
  }
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
