#include "core/embedding/bound/rank_pricing.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

// Ways to hold one option on one rank; a certificate that needs more is refused.
constexpr std::size_t kMaxWays = 4096;
// With more labels than this, the remaining item classes are solved apart and the two sets of
// labels are joined. Source: Horowitz, Sahni, "Computing Partitions with Applications to the
// Knapsack Problem" (1974).
constexpr std::size_t kMaxLabelsOfFirstHalf = 1000;
// Labels that a label is compared with: those kept last, which use about as much load. A full
// comparison takes quadratic time and finds little more.
constexpr std::size_t kMaxComparisons = 64;
// Relative error of a sum of loads that was rounded down term by term, and of a quotient.
constexpr double kSumSlack = 1e-9;

// No worse in value and resources.
bool dominates(const ShardSet& a, const ShardSet& b) {
  return a.value >= b.value && a.load <= b.load && a.hbm_bytes <= b.hbm_bytes &&
         a.ddr_bytes <= b.ddr_bytes;
}

ShardSet sum(const ShardSet& a, const ShardSet& b) {
  return {add_up(a.value, b.value), add_down(a.load, b.load), a.hbm_bytes + b.hbm_bytes,
          a.ddr_bytes + b.ddr_bytes};
}

}  // namespace

ShardSet componentwise_min(const ShardSet& a, const ShardSet& b) {
  return {a.value, std::min(a.load, b.load), std::min(a.hbm_bytes, b.hbm_bytes),
          std::min(a.ddr_bytes, b.ddr_bytes)};
}

bool RankPricing::fits(const ShardSet& shards) const {
  return shards.load <= load_limit_ && shards.hbm_bytes <= room_.hbm.value() &&
         shards.ddr_bytes <= room_.ddr.value();
}

double RankPricing::reduced_value(const ShardSet& shards) const {
  double cost = multiply_down(multipliers_.load, shards.load);
  cost = add_down(cost, multiply_down(multipliers_.hbm, rounded_down(shards.hbm_bytes)));
  cost = add_down(cost, multiply_down(multipliers_.ddr, rounded_down(shards.ddr_bytes)));
  return add_up(shards.value, -cost);
}

bool RankPricing::add(const std::vector<ShardSet>& runs, const std::vector<std::uint32_t>& counts) {
  std::vector<ShardSet> ways{ShardSet{}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].value <= 0) continue;  // holding them gains nothing
    const std::size_t before = ways.size();
    for (std::size_t w = 0; w < before; ++w) {
      ShardSet more = ways[w];
      for (std::uint32_t k = 0; k < counts[i]; ++k) {
        more = sum(more, runs[i]);
        if (!fits(more)) break;
        ways.push_back(more);
        if (ways.size() > kMaxWays) return false;
      }
    }
  }
  ItemClass& own = classes_.back();
  for (std::size_t w = 1; w < ways.size(); ++w) {
    own.items.push_back({ways[w], reduced_value(ways[w])});
    own.best_reduced_value = std::max(own.best_reduced_value, own.items.back().reduced_value);
    own.max_use.load = std::max(own.max_use.load, ways[w].load);
    own.max_use.hbm_bytes = std::max(own.max_use.hbm_bytes, ways[w].hbm_bytes);
    own.max_use.ddr_bytes = std::max(own.max_use.ddr_bytes, ways[w].ddr_bytes);
  }
  return true;
}

void RankPricing::merge_identical() {
  const auto key = [](const Label& item) {
    return std::tuple(item.shards.value, item.shards.load, item.shards.hbm_bytes,
                      item.shards.ddr_bytes);
  };
  const auto before = [&](const Label& a, const Label& b) { return key(a) < key(b); };
  for (ItemClass& own : classes_)
    std::sort(own.items.begin(), own.items.end(), before);
  std::sort(classes_.begin(), classes_.end(), [&](const ItemClass& a, const ItemClass& b) {
    return std::lexicographical_compare(a.items.begin(), a.items.end(), b.items.begin(),
                                        b.items.end(), before);
  });
  std::vector<ItemClass> merged;
  for (ItemClass& own : classes_) {
    if (own.items.empty()) continue;
    const bool identical =
        !merged.empty() &&
        std::equal(own.items.begin(), own.items.end(), merged.back().items.begin(),
                   merged.back().items.end(),
                   [&](const Label& a, const Label& b) { return key(a) == key(b); });
    if (identical) {
      ++merged.back().copies;
    } else {
      merged.push_back(std::move(own));
    }
  }
  classes_ = std::move(merged);
  for (ItemClass& own : classes_)
    own.multiplicity_bound = multiplicity_bound(own);
}

std::uint32_t RankPricing::multiplicity_bound(const ItemClass& own) const {
  ShardSet least = own.items.front().shards;
  for (const Label& item : own.items)
    least = componentwise_min(least, item.shards);
  double most = own.copies;
  const auto limit = [&](double room, double size) {
    if (size > 0) most = std::min(most, room / size * (1 + kSumSlack));
  };
  limit(load_limit_, least.load);
  limit(rounded_up(room_.hbm.value()), rounded_down(least.hbm_bytes));
  limit(rounded_up(room_.ddr.value()), rounded_down(least.ddr_bytes));
  return static_cast<std::uint32_t>(std::max(0.0, most)) + 1;
}

RankPricing::Answer RankPricing::check(double claim, std::uint64_t& work_left) {
  merge_identical();
  // The most promising classes come first: the completion bound of the others is then tight early.
  std::stable_sort(classes_.begin(), classes_.end(), [](const ItemClass& a, const ItemClass& b) {
    return a.best_reduced_value > b.best_reduced_value;
  });
  const std::size_t end = extend_from(0, kMaxLabelsOfFirstHalf, claim, work_left);
  std::vector<Label> others{Label{}};
  if (end < classes_.size()) {
    others = labels_;
    extend_from(end, std::numeric_limits<std::size_t>::max(), claim, work_left);
  }
  const bool exceeded = any_pair_exceeds(others, claim, work_left);
  if (work_left == 0) return Answer::kGivenUp;
  return exceeded ? Answer::kExceeded : Answer::kHolds;
}

// Of a label that has been extended by the classes [first, end).
RankPricing::Completion RankPricing::completion(std::size_t first, std::size_t end) const {
  Completion rest;
  const auto room = [](Bytes bytes) {
    return rounded_up(std::max<std::int64_t>(0, bytes.value()));
  };
  rest.reduced_value = multiply_up(multipliers_.load, load_limit_);
  rest.reduced_value = add_up(rest.reduced_value, multiply_up(multipliers_.hbm, room(room_.hbm)));
  rest.reduced_value = add_up(rest.reduced_value, multiply_up(multipliers_.ddr, room(room_.ddr)));
  rest.free_below = {0, load_limit_, room_.hbm.value(), room_.ddr.value()};
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (i >= first && i < end) continue;
    const ItemClass& own = classes_[i];
    const std::uint32_t copies = std::min(own.copies, own.multiplicity_bound);
    rest.reduced_value = add_up(rest.reduced_value, multiply_up(copies, own.best_reduced_value));
    rest.free_below.load = add_down(rest.free_below.load, -multiply_up(copies, own.max_use.load));
    rest.free_below.hbm_bytes -= copies * own.max_use.hbm_bytes;
    rest.free_below.ddr_bytes -= copies * own.max_use.ddr_bytes;
  }
  rest.free_below.load -= kSumSlack * load_limit_;
  return rest;
}

// Makes labels of the classes from `first` on, until there are more than `max_labels`. All other
// classes count as still to come. Returns the first class that is not in the labels.
std::size_t RankPricing::extend_from(std::size_t first, std::size_t max_labels, double claim,
                                     std::uint64_t& work_left) {
  labels_.assign(1, Label{});
  std::size_t next = first;
  while (next < classes_.size() && labels_.size() <= max_labels && work_left > 0) {
    extend(classes_[next], completion(first, next), completion(first, next + 1), claim, work_left);
    ++next;
  }
  return next;
}

// Extends every label by as many copies of the class as fit. Items are added one after the other,
// so no combination appears in two orders. `before` counts the class as still to come, `after` does
// not.
void RankPricing::extend(const ItemClass& own, const Completion& before, const Completion& after,
                         double claim, std::uint64_t& work_left) {
  const std::uint32_t equal_copies = own.copies - std::min(own.copies, own.multiplicity_bound);
  double best = 0;
  std::vector<double> best_from(own.items.size());  // of one more copy, from this item on
  for (std::size_t i = own.items.size(); i-- > 0;)
    best_from[i] = best = std::max(best, own.items[i].reduced_value);
  for (std::size_t item = 0; item < own.items.size(); ++item) {
    const Label& added = own.items[item];
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (work_left == 0) return;
      --work_left;
      if (labels_[i].copies == own.copies) continue;
      const Label more{sum(labels_[i].shards, added.shards),
                       add_up(labels_[i].reduced_value, added.reduced_value),
                       labels_[i].copies + 1};
      const double rest =
          add_up(after.reduced_value, multiply_up(own.copies - more.copies, best_from[item]));
      if (fits(more.shards) && add_up(more.reduced_value, rest) > claim) labels_.push_back(more);
    }
    if (own.copies > 1) drop_dominated(before.free_below, equal_copies);
  }
  for (Label& label : labels_)
    label.copies = 0;
  std::erase_if(labels_, [&](const Label& label) {
    return !(add_up(label.reduced_value, after.reduced_value) > claim);
  });
  drop_dominated(after.free_below, 0);
}

// Use below `free_below` counts as equal: everything still to come fits anyway. So do numbers of
// copies up to `equal_copies`: what is left of the class is then more than can fit.
void RankPricing::drop_dominated(const ShardSet& free_below, std::uint32_t equal_copies) {
  const auto counted = [&](const Label& label) {
    return ShardSet{label.shards.value, std::max(label.shards.load, free_below.load),
                    std::max(label.shards.hbm_bytes, free_below.hbm_bytes),
                    std::max(label.shards.ddr_bytes, free_below.ddr_bytes)};
  };
  std::sort(labels_.begin(), labels_.end(), [&](const Label& a, const Label& b) {
    const double load_a = std::max(a.shards.load, free_below.load);
    const double load_b = std::max(b.shards.load, free_below.load);
    return load_a != load_b ? load_a < load_b : a.shards.value > b.shards.value;
  });
  kept_.clear();
  for (const Label& label : labels_) {
    const ShardSet own = counted(label);
    const std::size_t from = kept_.size() > kMaxComparisons ? kept_.size() - kMaxComparisons : 0;
    const bool dominated = std::any_of(
        kept_.begin() + static_cast<std::ptrdiff_t>(from), kept_.end(), [&](const Label& other) {
          return std::max(other.copies, equal_copies) <= std::max(label.copies, equal_copies) &&
                 dominates(counted(other), own);
        });
    if (!dominated) kept_.push_back(label);
  }
  labels_.swap(kept_);
}

// Returns true if a label and one of `others` fit a rank together and are worth more than the
// claim.
bool RankPricing::any_pair_exceeds(std::vector<Label> others, double claim,
                                   std::uint64_t& work_left) const {
  std::sort(others.begin(), others.end(),
            [](const Label& a, const Label& b) { return a.shards.value > b.shards.value; });
  for (const Label& label : labels_) {
    for (const Label& other : others) {
      if (work_left == 0) return false;
      --work_left;
      const ShardSet both = sum(label.shards, other.shards);
      if (both.value <= claim) break;
      if (fits(both)) return true;
    }
  }
  return false;
}

}  // namespace shardwright::embedding
