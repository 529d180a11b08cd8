#include "core/embedding/bound/rank_pricing.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {

void StepLimit::ask() {
  constexpr std::uint64_t kStepsBetween = std::uint64_t{1} << 16;
  ask_at_ = left_ - std::min(left_, kStepsBetween);
  if (is_stopped_()) left_ = 0;
}

ShardSet sum(const ShardSet& a, const ShardSet& b) {
  return {add_up(a.value, b.value), add_down(a.load, b.load), a.storage + b.storage};
}

ShardSet componentwise_min(const ShardSet& a, const ShardSet& b) {
  return {a.value, std::min(a.load, b.load), least_of(a.storage, b.storage)};
}

bool dominates(const ShardSet& a, const ShardSet& b) {
  return a.value >= b.value && a.load <= b.load && a.storage.fits_in(b.storage);
}

bool RankCapacity::fits(const ShardSet& shards) const {
  return shards.load <= load_limit && shards.storage.fits_in(room);
}

double RankCapacity::reduced_value(const ShardSet& shards) const {
  double cost = multiply_down(multipliers.load, shards.load);
  for (const MemoryTier tier : kMemoryTiers) {
    const double bytes = rounded_down(shards.storage[tier].value());
    cost = add_down(cost, multiply_down(multipliers[tier], bytes));
  }
  return add_up(shards.value, -cost);
}

double RankCapacity::cost() const {
  const auto bytes = [](Bytes own) { return rounded_up(std::max<std::int64_t>(0, own.value())); };
  double cost = multiply_up(multipliers.load, load_limit);
  for (const MemoryTier tier : kMemoryTiers)
    cost = add_up(cost, multiply_up(multipliers[tier], bytes(room[tier])));
  return cost;
}

namespace {

// The most combinations of one option's shards on a rank that a certificate may need.
constexpr std::size_t kMaxCombinations = 4096;

// Returns a number of copies that never fit together, from the smallest use of each resource.
std::uint32_t multiplicity_bound_of(const RankItemClass& item_class, const RankCapacity& capacity) {
  ShardSet least = item_class.items.front().shards;
  for (const RankItem& item : item_class.items)
    least = componentwise_min(least, item.shards);
  double most = item_class.copies;
  const auto limit = [&](double room, double size) {
    if (size > 0) most = std::min(most, room / size * (1 + kLoadSumSlack));
  };
  limit(capacity.load_limit, least.load);
  for (const MemoryTier tier : kMemoryTiers)
    limit(rounded_up(capacity.room[tier].value()), rounded_down(least.storage[tier].value()));
  return static_cast<std::uint32_t>(std::max(0.0, most)) + 1;
}

// If there are more labels than this, the remaining item classes get labels of their own, and the
// two sets of labels are joined. Source: Horowitz, Sahni, "Computing Partitions with Applications
// to the Knapsack Problem" (1974).
constexpr std::size_t kMaxLabelsOfFirstHalf = 1000;
// A label is compared with at most this number of kept labels, those with the closest loads.
// Comparing all pairs takes quadratic time and finds few more dominated labels.
constexpr std::size_t kMaxComparisons = 64;
constexpr std::size_t kComparisonsPerStep = 8;  // take as long as one other step

}  // namespace

bool add_items(const RankCapacity& capacity, const std::vector<ShardSet>& runs,
               const std::vector<std::uint32_t>& counts, RankItemClass& into) {
  std::vector<ShardSet> combinations{ShardSet{}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].value <= 0) continue;  // a run without value
    const std::size_t before = combinations.size();
    for (std::size_t c = 0; c < before; ++c) {
      ShardSet more = combinations[c];
      for (std::uint32_t k = 0; k < counts[i]; ++k) {
        more = sum(more, runs[i]);
        if (!capacity.fits(more)) break;
        combinations.push_back(more);
        if (combinations.size() > kMaxCombinations) return false;
      }
    }
  }
  for (std::size_t c = 1; c < combinations.size(); ++c) {
    const ShardSet& shard_set = combinations[c];
    into.items.push_back({shard_set, capacity.reduced_value(shard_set)});
    into.best_reduced_value = std::max(into.best_reduced_value, into.items.back().reduced_value);
    into.max_use.load = std::max(into.max_use.load, shard_set.load);
    into.max_use.storage = most_of(into.max_use.storage, shard_set.storage);
  }
  return true;
}

void merge_identical(const RankCapacity& capacity, std::vector<RankItemClass>& classes) {
  const auto key = [](const RankItem& item) {
    return std::tuple(item.shards.value, item.shards.load, item.shards.storage);
  };
  const auto before = [&](const RankItem& a, const RankItem& b) { return key(a) < key(b); };
  for (RankItemClass& item_class : classes)
    std::sort(item_class.items.begin(), item_class.items.end(), before);
  std::sort(classes.begin(), classes.end(), [&](const RankItemClass& a, const RankItemClass& b) {
    return std::lexicographical_compare(a.items.begin(), a.items.end(), b.items.begin(),
                                        b.items.end(), before);
  });
  std::vector<RankItemClass> merged;
  for (RankItemClass& own : classes) {
    if (own.items.empty()) continue;
    const bool identical =
        !merged.empty() &&
        std::equal(own.items.begin(), own.items.end(), merged.back().items.begin(),
                   merged.back().items.end(),
                   [&](const RankItem& a, const RankItem& b) { return key(a) == key(b); });
    if (identical) {
      ++merged.back().copies;
    } else {
      merged.push_back(std::move(own));
    }
  }
  classes = std::move(merged);
  for (RankItemClass& own : classes)
    own.multiplicity_bound = multiplicity_bound_of(own, capacity);
}

RankPricing::Answer RankPricing::check(double claim, StepLimit& limit) {
  for (const RankItemClass& item_class : classes_)
    limit.spend(item_class.items.size());
  merge_identical(capacity_, classes_);
  // With the most valuable classes first, the completion bound becomes tight early.
  std::stable_sort(classes_.begin(), classes_.end(),
                   [](const RankItemClass& a, const RankItemClass& b) {
                     return a.best_reduced_value > b.best_reduced_value;
                   });
  const std::size_t end = extend_from(0, kMaxLabelsOfFirstHalf, claim, limit);
  std::vector<Label> others{Label{}};
  if (end < classes_.size()) {
    others = labels_;
    extend_from(end, std::numeric_limits<std::size_t>::max(), claim, limit);
  }
  const bool exceeded = any_pair_exceeds(others, claim, limit);
  if (limit.is_over()) return Answer::kGivenUp;
  return exceeded ? Answer::kExceeded : Answer::kHolds;
}

// Returns the completion of labels that cover the classes [first, end).
RankPricing::Completion RankPricing::completion(std::size_t first, std::size_t end) const {
  Completion rest;
  rest.reduced_value = capacity_.cost();
  rest.free_below = {0, capacity_.load_limit, capacity_.room};
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (i >= first && i < end) continue;
    const RankItemClass& item_class = classes_[i];
    const std::uint32_t copies = std::min(item_class.copies, item_class.multiplicity_bound);
    rest.reduced_value =
        add_up(rest.reduced_value, multiply_up(copies, item_class.best_reduced_value));
    rest.free_below.load =
        add_down(rest.free_below.load, -multiply_up(copies, item_class.max_use.load));
    rest.free_below.storage -= copies * item_class.max_use.storage;
  }
  rest.free_below.load -= kLoadSumSlack * capacity_.load_limit;
  return rest;
}

// Makes labels that cover the classes from `first` on, until there are more than `max_labels`. The
// completion counts all other classes as later ones. Returns the first class not covered.
std::size_t RankPricing::extend_from(std::size_t first, std::size_t max_labels, double claim,
                                     StepLimit& limit) {
  labels_.assign(1, Label{});
  std::size_t next = first;
  while (next < classes_.size() && labels_.size() <= max_labels && !limit.is_over()) {
    extend(classes_[next], completion(first, next), completion(first, next + 1), claim, limit);
    ++next;
  }
  return next;
}

// Extends every label by as many copies of the class as fit. Items are added in order, so no
// combination appears twice. `before` is the completion with this class, `after` without it.
void RankPricing::extend(const RankItemClass& item_class, const Completion& before,
                         const Completion& after, double claim, StepLimit& limit) {
  const std::uint32_t equal_copies =
      item_class.copies - std::min(item_class.copies, item_class.multiplicity_bound);
  double best = 0;
  std::vector<double> best_from(item_class.items.size());  // best copy among this and later items
  for (std::size_t i = item_class.items.size(); i-- > 0;)
    best_from[i] = best = std::max(best, item_class.items[i].reduced_value);
  for (std::size_t item = 0; item < item_class.items.size(); ++item) {
    const RankItem& added = item_class.items[item];
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      limit.hear_stop();
      if (limit.is_over()) return;
      limit.spend(1);
      if (labels_[i].copies == item_class.copies) continue;
      const Label more{sum(labels_[i].shards, added.shards),
                       add_up(labels_[i].reduced_value, added.reduced_value),
                       labels_[i].copies + 1};
      const double rest = add_up(after.reduced_value,
                                 multiply_up(item_class.copies - more.copies, best_from[item]));
      if (capacity_.fits(more.shards) && add_up(more.reduced_value, rest) > claim)
        labels_.push_back(more);
    }
    if (item_class.copies > 1) drop_dominated(before.free_below, equal_copies, limit);
  }
  for (Label& label : labels_)
    label.copies = 0;
  std::erase_if(labels_, [&](const Label& label) {
    return !(add_up(label.reduced_value, after.reduced_value) > claim);
  });
  drop_dominated(after.free_below, 0, limit);
}

// Drops dominated labels. Uses up to `free_below` count as equal, since all later classes fit
// beside them. Numbers of copies up to `equal_copies` count as equal, since more are left than can
// fit.
void RankPricing::drop_dominated(const ShardSet& free_below, std::uint32_t equal_copies,
                                 StepLimit& limit) {
  const auto counted = [&](const Label& label) {
    return ShardSet{label.shards.value, std::max(label.shards.load, free_below.load),
                    most_of(label.shards.storage, free_below.storage)};
  };
  std::sort(labels_.begin(), labels_.end(), [&](const Label& a, const Label& b) {
    const double load_a = std::max(a.shards.load, free_below.load);
    const double load_b = std::max(b.shards.load, free_below.load);
    return load_a != load_b ? load_a < load_b : a.shards.value > b.shards.value;
  });
  kept_.clear();
  for (const Label& label : labels_) {
    const ShardSet shard_set = counted(label);
    const std::size_t from = kept_.size() > kMaxComparisons ? kept_.size() - kMaxComparisons : 0;
    const bool dominated = std::any_of(
        kept_.begin() + static_cast<std::ptrdiff_t>(from), kept_.end(), [&](const Label& other) {
          return std::max(other.copies, equal_copies) <= std::max(label.copies, equal_copies) &&
                 dominates(counted(other), shard_set);
        });
    if (!dominated) kept_.push_back(label);
    limit.spend(1 + (kept_.size() - from) / kComparisonsPerStep);
  }
  labels_.swap(kept_);
}

// Returns true if some label and one of `others` fit a rank together and are worth more than the
// claim.
bool RankPricing::any_pair_exceeds(std::vector<Label> others, double claim,
                                   StepLimit& limit) const {
  std::sort(others.begin(), others.end(),
            [](const Label& a, const Label& b) { return a.shards.value > b.shards.value; });
  for (const Label& label : labels_) {
    for (const Label& other : others) {
      limit.hear_stop();
      if (limit.is_over()) return false;
      limit.spend(1);
      const ShardSet both = sum(label.shards, other.shards);
      if (both.value <= claim) break;
      if (capacity_.fits(both)) return true;
    }
  }
  return false;
}

}  // namespace shardwright::embedding
