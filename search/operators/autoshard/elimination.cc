#include "search/operators/autoshard/elimination.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/check.h"

namespace shardwright::operators::autoshard {
namespace {

constexpr std::uint64_t kManyCounts = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > kManyCounts - b ? kManyCounts : a + b;
}

// Precondition: neither is 0.
std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return a > kManyCounts / b ? kManyCounts : a * b;
}

}  // namespace

std::optional<std::uint32_t> Elimination::run(const PairwiseModel& model) {
  model_ = &model;
  if (const auto too_wide = order_.choose(model)) return too_wide;
  place_tables();
  gather_factors();
  optimum_ = 0;
  num_optimal_ = 1;
  for (std::size_t i = 0; i < order_.order().size(); ++i) {
    fill(i);
    if (!order_.scope(i).empty()) continue;
    optimum_ += costs_[table_begin_[i]];
    num_optimal_ = saturating_multiply(num_optimal_, counts_[table_begin_[i]]);
  }
  return std::nullopt;
}

void Elimination::place_tables() {
  table_begin_.clear();
  std::size_t begin = 0;
  for (std::size_t i = 0; i < order_.order().size(); ++i) {
    table_begin_.push_back(begin);
    begin += order_.states(i);
  }
  if (costs_.size() < begin) {
    costs_.resize(begin);
    counts_.resize(begin);
  }
}

// A factor belongs to the variable among its own that is eliminated first.
void Elimination::gather_factors() {
  factors_.clear();
  for (std::uint32_t i = 0; i < model_->pairs().size(); ++i) {
    const PairwiseModel::Pair& pair = model_->pairs()[i];
    const std::uint32_t position =
        std::min(order_.position(pair.first), order_.position(pair.second));
    factors_.push_back({position, false, i, pair.costs.data(), nullptr, 0});
  }
  const std::size_t count = order_.order().size();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (order_.scope(i).empty()) continue;
    std::uint32_t position = std::numeric_limits<std::uint32_t>::max();
    for (const std::uint32_t v : order_.scope(i))
      position = std::min(position, order_.position(v));
    const std::size_t begin = table_begin_[i];
    factors_.push_back({position, true, i, costs_.data() + begin, counts_.data() + begin, 0});
  }
  std::sort(factors_.begin(), factors_.end(), [](const Factor& a, const Factor& b) {
    return std::tie(a.position, a.is_table, a.source) < std::tie(b.position, b.is_table, b.source);
  });
  factors_begin_.assign(count + 1, 0);
  for (const Factor& factor : factors_)
    ++factors_begin_[factor.position + 1];
  for (std::size_t i = 0; i < count; ++i)
    factors_begin_[i + 1] += factors_begin_[i];
  strides_.clear();
  for (Factor& factor : factors_)
    set_strides(factor);
}

void Elimination::set_strides(Factor& factor) {
  factor.strides_begin = strides_.size();
  strides_.push_back(stride(factor, order_.order()[factor.position]));
  for (const std::uint32_t v : order_.scope(factor.position)) {
    strides_.push_back(stride(factor, v));
  }
}

// How far apart the entries of two neighbouring values of a variable are; 0 where the factor does
// not depend on it.
std::size_t Elimination::stride(const Factor& factor, std::uint32_t variable) const {
  if (!factor.is_table) {
    const PairwiseModel::Pair& pair = model_->pairs()[factor.source];
    if (variable == pair.first) return 3;
    return variable == pair.second ? 1 : 0;
  }
  std::size_t stride = 1;
  for (const std::uint32_t v : order_.scope(factor.source)) {
    if (v == variable) return stride;
    stride *= model_->variables()[v].size;
  }
  return 0;
}

std::span<const Elimination::Factor> Elimination::factors(std::size_t position) const {
  return std::span(factors_).subspan(factors_begin_[position],
                                     factors_begin_[position + 1] - factors_begin_[position]);
}

void Elimination::fill(std::size_t position) {
  offsets_.assign(factors(position).size(), 0);
  digits_.assign(order_.scope(position).size(), 0);
  const std::size_t begin = table_begin_[position];
  const std::size_t end = begin + order_.states(position);
  for (std::size_t state = begin; state < end; ++state) {
    const Best best = best_of_state(position);
    costs_[state] = best.cost;
    counts_[state] = best.count;
    advance(position);
  }
}

Elimination::Best Elimination::best_of_state(std::size_t position) const {
  Best best{std::numeric_limits<std::int64_t>::max(), 0};
  const std::uint8_t size = model_->variables()[order_.order()[position]].size;
  for (std::uint8_t value = 0; value < size; ++value) {
    const std::int64_t cost = cost_of(position, value);
    if (cost > best.cost) continue;
    const std::uint64_t count = count_of(position, value);
    best.count = cost < best.cost ? count : saturating_add(best.count, count);
    best.cost = cost;
  }
  return best;
}

// To the next state: the first variable of the scope runs fastest.
void Elimination::advance(std::size_t position) {
  const auto scope = order_.scope(position);
  const auto summands = factors(position);
  for (std::size_t d = 0; d < scope.size(); ++d) {
    const std::size_t last = model_->variables()[scope[d]].size - std::size_t{1};
    const bool wraps = digits_[d] == last;
    for (std::size_t f = 0; f < summands.size(); ++f) {
      const std::size_t stride = strides_[summands[f].strides_begin + 1 + d];
      offsets_[f] = wraps ? offsets_[f] - last * stride : offsets_[f] + stride;
    }
    digits_[d] = wraps ? std::uint8_t{0} : static_cast<std::uint8_t>(digits_[d] + 1);
    if (!wraps) return;
  }
}

std::int64_t Elimination::cost_of(std::size_t position, std::uint8_t value) const {
  std::int64_t cost = model_->variables()[order_.order()[position]].costs[value];
  const auto summands = factors(position);
  for (std::size_t f = 0; f < summands.size(); ++f) {
    const Factor& factor = summands[f];
    cost += factor.costs[offsets_[f] + value * strides_[factor.strides_begin]];
  }
  return cost;
}

std::uint64_t Elimination::count_of(std::size_t position, std::uint8_t value) const {
  std::uint64_t count = 1;
  const auto summands = factors(position);
  for (std::size_t f = 0; f < summands.size(); ++f) {
    const Factor& factor = summands[f];
    if (factor.counts == nullptr) continue;
    count = saturating_multiply(
        count, factor.counts[offsets_[f] + value * strides_[factor.strides_begin]]);
  }
  return count;
}

// Going back through the order, what a value costs beyond its table's entry is what the whole
// assignment loses by it: the losses of all variables add up to cost - optimum.
std::span<const std::uint8_t> Elimination::select(std::int64_t slack) {
  SHARDWRIGHT_CHECK(slack >= 0);
  const auto order = order_.order();
  chosen_.assign(order.size(), 0);
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto scope = order_.scope(i);
    const auto summands = factors(i);
    offsets_.assign(summands.size(), 0);
    std::size_t state = table_begin_[i];
    std::size_t state_stride = 1;
    for (std::size_t d = 0; d < scope.size(); ++d) {
      const std::size_t digit = chosen_[scope[d]];
      for (std::size_t f = 0; f < summands.size(); ++f) {
        offsets_[f] += digit * strides_[summands[f].strides_begin + 1 + d];
      }
      state += digit * state_stride;
      state_stride *= model_->variables()[scope[d]].size;
    }
    std::uint8_t value = 0;
    while (cost_of(i, value) - costs_[state] > slack)
      ++value;
    slack -= cost_of(i, value) - costs_[state];
    chosen_[order[i]] = value;
  }
  return chosen_;
}

}  // namespace shardwright::operators::autoshard
