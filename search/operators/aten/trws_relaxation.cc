#include "search/operators/aten/trws_relaxation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace shardwright::operators {
namespace {

// Adds four rows at a time, so that results are read and written less often.
template <typename T>
[[gnu::always_inline]] inline void add_rows(const T* sent, const std::uint32_t* rows,
                                            std::size_t num_rows, const T* costs,
                                            std::size_t columns, T* least) {
  std::size_t r = 0;
  for (; r + 4 <= num_rows; r += 4) {
    const T* const a = costs + rows[r] * columns;
    const T* const b = costs + rows[r + 1] * columns;
    const T* const c = costs + rows[r + 2] * columns;
    const T* const d = costs + rows[r + 3] * columns;
    const T at_a = sent[rows[r]];
    const T at_b = sent[rows[r + 1]];
    const T at_c = sent[rows[r + 2]];
    const T at_d = sent[rows[r + 3]];
    for (std::size_t k = 0; k < columns; ++k) {
      const T ab = std::min(at_a + a[k], at_b + b[k]);
      const T cd = std::min(at_c + c[k], at_d + d[k]);
      least[k] = std::min(least[k], std::min(ab, cd));
    }
  }
  for (; r < num_rows; ++r) {
    const T* const row = costs + rows[r] * columns;
    const T own = sent[rows[r]];
    for (std::size_t k = 0; k < columns; ++k)
      least[k] = std::min(least[k], own + row[k]);
  }
}

#if defined(__x86_64__)
// Wider registers give the same bits: there are no products that could be fused with sums.
template <typename T>
[[gnu::target("avx2")]] void add_rows_wide(const T* sent, const std::uint32_t* rows,
                                           std::size_t num_rows, const T* costs,
                                           std::size_t columns, T* least) {
  add_rows(sent, rows, num_rows, costs, columns, least);
}

bool has_wide_registers() {
  static const bool kHas = __builtin_cpu_supports("avx2") != 0;
  return kHas;
}
#endif

template <typename T>
void find_least(const std::vector<T>& sent, const std::vector<std::uint32_t>& rows, const T* costs,
                std::vector<T>& least) {
  std::fill(least.begin(), least.end(), std::numeric_limits<T>::infinity());
#if defined(__x86_64__)
  if (has_wide_registers()) {
    add_rows_wide(sent.data(), rows.data(), rows.size(), costs, least.size(), least.data());
    return;
  }
#endif
  add_rows(sent.data(), rows.data(), rows.size(), costs, least.size(), least.data());
}

// Exceeds the relative error of a sum in single precision.
constexpr double kRoundingOfSum = 0x1p-23;

// Costs between open choices are copied to a separate table if they are at most this fraction of
// all costs. The copy is faster to read, and small enough to have many.
constexpr double kLargestPart = 0.25;

constexpr float kNever = std::numeric_limits<float>::infinity();

// Has no branches, since it is called for every entry.
float round_down(double cost) {
  const auto rounded = static_cast<float>(cost);
  const float lower = rounded - std::max(std::abs(rounded) * static_cast<float>(kRoundingOfSum),
                                         std::numeric_limits<float>::min());
  return static_cast<double>(rounded) > cost ? lower : rounded;
}

}  // namespace

void least_rows(const std::vector<float>& sent, const std::vector<std::uint32_t>& rows,
                const float* costs, std::vector<float>& least) {
  find_least(sent, rows, costs, least);
}

void least_rows(const std::vector<double>& sent, const std::vector<std::uint32_t>& rows,
                const double* costs, std::vector<double>& least) {
  find_least(sent, rows, costs, least);
}

// The costs of a transfer in single precision, for reading from either end.
struct TrwsRelaxation::Table {
  Table() = default;
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

TrwsRelaxation::TrwsRelaxation(const AtenModel& model, std::span<const std::uint32_t> leaders)
    : model_(&model) {
  std::vector<char> is_used(model.transfers.transfers.size(), 0);
  for (const AtenTransfers::Edge& edge : model.transfers.edges)
    is_used[edge.transfer] = 1;
  auto tables = std::make_shared<std::vector<Table>>();
  for (std::size_t t = 0; t < is_used.size(); ++t)
    tables->push_back(is_used[t] != 0 ? Table(model.transfers.transfers[t]) : Table());
  tables_ = std::move(tables);
  make_nodes(leaders);
  make_links();
  costs_ = own_;
  slack_ = own_;
  open_allowed();
}

TrwsRelaxation::TrwsRelaxation(const TrwsRelaxation& other, std::span<const std::uint32_t> leaders)
    : model_(other.model_), tables_(other.tables_) {
  make_nodes(leaders);
  make_links();
  start_from(other);
  costs_ = own_;
  slack_ = own_;
  open_allowed();
}

void TrwsRelaxation::make_nodes(std::span<const std::uint32_t> leaders) {
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

void TrwsRelaxation::make_links() {
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

void TrwsRelaxation::add_links(std::uint32_t first, std::uint32_t second, std::uint32_t number,
                               const EdgePlace& place) {
  const AtenTransfer& transfer = model_->transfers.transfers[number];
  const std::uint32_t* rows = transfer.row_of.data();
  const std::uint32_t* columns = transfer.column_of.data();
  const Table& table = (*tables_)[number];
  links_[first].push_back({second, rows, columns, transfer.rows, transfer.columns,
                           table.forward.data(), place.edges, place.to_first, place.to_second,
                           nullptr});
  links_[second].push_back({first, columns, rows, transfer.columns, transfer.rows,
                            table.backward.data(), place.edges, place.to_second, place.to_first,
                            nullptr});
}

void TrwsRelaxation::start_from(const TrwsRelaxation& other) {
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

void TrwsRelaxation::set_prices(std::span<const double> prices, std::int64_t limit) {
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

// Sets gathered_ to the node's costs plus all messages to the node.
void TrwsRelaxation::gather(std::uint32_t node) {
  const std::vector<std::uint32_t>& open = open_[node];
  const std::vector<double>& costs = costs_[node];
  gathered_.resize(open.size());
  const auto add_all = [&](const auto& choice) {
    for (std::size_t i = 0; i < gathered_.size(); ++i)
      gathered_[i] = costs[choice(i)];
    for (const Link& link : links_[node]) {
      const double* message = messages_.data() + link.to_own;
      const std::uint32_t* group = link.own_group;
      for (std::size_t i = 0; i < gathered_.size(); ++i)
        gathered_[i] += message[group[choice(i)]];
    }
  };
  if (open.size() == costs.size()) {
    add_all([](std::size_t i) { return i; });
  } else {
    add_all([&](std::size_t i) { return open[i]; });
  }
}

// Sends a message along the link. Subtracts its least element from all elements and returns it.
double TrwsRelaxation::send(std::uint32_t node, const Link& link, double share) {
  const double* to_own = messages_.data() + link.to_own;
  const std::vector<std::uint32_t>& open = open_[node];
  grouped_.assign(link.own_groups, kForbidden);
  for (std::size_t i = 0; i < open.size(); ++i) {
    double& least = grouped_[link.own_group[open[i]]];
    least = std::min(least, gathered_[i]);
  }
  const double part_of_edge = 1 / link.edges;
  sent_.resize(grouped_.size());
  for (std::size_t g = 0; g < grouped_.size(); ++g)
    sent_[g] = round_down((share * grouped_[g] - to_own[g]) * part_of_edge);
  sending_.clear();
  const Part* part = link.part;
  for (std::uint32_t g = 0; g < sent_.size(); ++g) {
    if (!(sent_[g] < kNever)) continue;
    const std::uint32_t row = part == nullptr ? g : part->row_of[g];
    sent_[row] = sent_[g];
    sending_.push_back(row);
  }
  least_.resize(part == nullptr ? link.other_groups : part->columns.size());
  least_rows(sent_, sending_, part == nullptr ? link.costs : part->costs.data(), least_);
  // Rounds down; infinite values stay infinite.
  received_.resize(least_.size());
  const double of_positive = link.edges * (1 - kRoundingOfSum);
  const double of_negative = link.edges * (1 + kRoundingOfSum);
  for (std::size_t k = 0; k < received_.size(); ++k) {
    const auto sum = static_cast<double>(least_[k]);
    received_[k] = sum * (sum < 0 ? of_negative : of_positive);
  }
  const double least = *std::min_element(received_.begin(), received_.end());
  double* to_other = messages_.data() + link.to_other;
  for (std::size_t k = 0; k < received_.size(); ++k)
    to_other[part == nullptr ? k : part->columns[k]] = received_[k] - least;
  return least;
}

// Returns the sum of the minima subtracted from nodes and messages. After a backward pass, it is
// the sum of the minima over the chains into which the edges are divided, which is a lower bound.
double TrwsRelaxation::pass(bool forward, double haste) {
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
    for (std::size_t s = 0; !forward && s < gathered_.size(); ++s)
      slack_[node][open_[node][s]] = gathered_[s];
    const std::size_t begin = forward ? earlier : 0;
    const std::size_t end = forward ? links : earlier;
    const auto edges = [&](std::size_t first, std::size_t last) {
      double number = 0;
      for (std::size_t l = first; l < last; ++l)
        number += links_[node][l].edges;
      return std::max(number, 1.0);
    };
    const double share = (1 - haste) / std::max(edges(0, earlier), edges(earlier, links)) +
                         haste / edges(begin, end);
    for (std::size_t l = begin; l < end; ++l)
      take(send(node, links_[node][l], share * links_[node][l].edges));
  }
  // Allowance for rounding, relative to the sum of magnitudes.
  constexpr double kRounding = 1e-13;
  return sum - kRounding * magnitude;
}

void TrwsRelaxation::sweep(int times) {
  double now = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < std::max(times, 2); ++i) {
    pass(true, 0);
    previous_ = now;
    now = pass(false, 0);
  }
  bound_ = now;
}

void TrwsRelaxation::hurry(int times, double haste) {
  for (int i = 0; i < times; ++i) {
    pass(true, haste);
    pass(false, haste);
  }
}

void TrwsRelaxation::exclude_above(double cost) {
  for (std::size_t node = 0; node < own_.size(); ++node) {
    for (const std::uint32_t s : open_[node]) {
      if (previous_ + slack_[node][s] <= cost) continue;
      own_[node][s] = kForbidden;
      costs_[node][s] = kForbidden;
      slack_[node][s] = kForbidden;
    }
  }
  open_allowed();
}

std::vector<char> TrwsRelaxation::open_groups(std::uint32_t node, const std::uint32_t* group_of,
                                              std::uint32_t groups) const {
  std::vector<char> open(groups, 0);
  for (const std::uint32_t s : open_[node])
    open[group_of[s]] = 1;
  return open;
}

// Lists the open choices. Links with equal tables and equal open choices share a part.
void TrwsRelaxation::open_allowed() {
  open_.assign(own_.size(), {});
  for (std::size_t node = 0; node < own_.size(); ++node) {
    for (std::uint32_t s = 0; s < own_[node].size(); ++s) {
      if (own_[node][s] < kForbidden) open_[node].push_back(s);
    }
    // If all choices are forbidden, keeps one so that the bound becomes infinite.
    if (open_[node].empty()) open_[node].push_back(0);
  }
  parts_.clear();
  std::map<std::pair<const float*, std::pair<std::vector<char>, std::vector<char>>>, const Part*>
      known;
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    for (Link& link : links_[node]) {
      std::vector<char> rows = open_groups(node, link.own_group, link.own_groups);
      std::vector<char> columns = open_groups(link.other, link.other_group, link.other_groups);
      link.part = nullptr;
      const auto num_open = [](const std::vector<char>& open) {
        return static_cast<double>(std::count(open.begin(), open.end(), char{1}));
      };
      const double whole = static_cast<double>(rows.size()) * static_cast<double>(columns.size());
      if (kLargestPart * whole < num_open(rows) * num_open(columns)) continue;
      const auto [at, is_new] =
          known.try_emplace({link.costs, {std::move(rows), std::move(columns)}}, nullptr);
      if (is_new) {
        parts_.push_back(part_of(link, at->first.second.first, at->first.second.second));
        at->second = parts_.back().get();
      }
      link.part = at->second;
    }
  }
}

std::shared_ptr<const TrwsRelaxation::Part> TrwsRelaxation::part_of(
    const Link& link, const std::vector<char>& rows, const std::vector<char>& columns) {
  auto part = std::make_shared<Part>();
  for (std::uint32_t k = 0; k < columns.size(); ++k) {
    if (columns[k] != 0) part->columns.push_back(k);
  }
  std::uint32_t row = 0;
  for (std::uint32_t g = 0; g < rows.size(); ++g) {
    part->row_of.push_back(row);
    if (rows[g] == 0) continue;
    ++row;
    for (const std::uint32_t k : part->columns)
      part->costs.push_back(link.costs[std::size_t{g} * link.other_groups + k]);
  }
  return part;
}

std::vector<std::uint32_t> TrwsRelaxation::decode() const {
  std::vector<std::uint32_t> by_node(links_.size());
  std::vector<double> sums;
  for (std::uint32_t node = 0; node < links_.size(); ++node) {
    sums.assign(costs_[node].size(), kForbidden);
    for (const std::uint32_t s : open_[node])
      sums[s] = costs_[node][s];
    for (const Link& link : links_[node]) {
      for (const std::uint32_t s : open_[node]) {
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
