#include "search/embedding/bound/label_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

namespace shardwright::embedding {

void Knapsack::fill(const BoundRows& rows, std::uint32_t rank_class, const PricingQuery& query) {
  const ChoiceModel& model = rows.model();
  const RankClass& own = rows.classes()[rank_class];
  const PerTier<double> room = as_doubles(own.room);
  capacity_ = {rows.classes().load_limit(rank_class, query.target), room.hbm, room.ddr, room.ssd};
  items_.clear();
  classes_.clear();
  for (const EqualTables& group : query.groups) {
    const std::uint32_t table = group.first();
    const std::size_t first = items_.size();
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      const std::uint32_t choice = model.first_choice(table) + i;
      if ((query.domain[choice] >> rank_class & 1) != 0)
        add_items(rows, rank_class, choice, query.dual_values);
    }
    drop_dominated_items(first);
    if (items_.size() == first) continue;
    classes_.push_back({static_cast<std::uint32_t>(first),
                        static_cast<std::uint32_t>(items_.size() - first),
                        group.size(),
                        0,
                        {}});
  }
}

void Knapsack::fill(std::span<const Item> items, std::span<const std::uint32_t> copies,
                    const Resources& capacity) {
  capacity_ = capacity;
  items_.assign(items.begin(), items.end());
  classes_.clear();
  for (std::uint32_t i = 0; i < items.size(); ++i)
    classes_.push_back({i, 1, copies[i], 0, {}});
}

void Knapsack::add_items(const BoundRows& rows, std::uint32_t rank_class, std::uint32_t choice,
                         std::span<const double> dual_values) {
  std::array<std::uint32_t, 2> usable{};
  std::size_t num_usable = 0;
  const std::uint32_t first = rows.first_row(choice);
  for (std::uint32_t r = 0; r < rows.rows_of(choice).size() && num_usable < 2; ++r) {
    const BoundRow& row = rows.rows()[first + r];
    if (dual_values[first + r] > 0 && rows.fits(row, rank_class)) {
      usable[num_usable++] = first + r;
    }
  }
  if (num_usable == 0) return;
  const std::uint32_t row = usable[0];
  const std::uint32_t other_row = num_usable == 2 ? usable[1] : usable[0];
  const BoundRow& a = rows.rows()[row];
  const BoundRow& b = rows.rows()[other_row];
  const auto add = [&](std::uint32_t k, std::uint32_t l) {
    Item item;
    item.value = k * dual_values[row] + l * dual_values[other_row];
    item.use.load = k * a.load + l * b.load;
    for (const MemoryTier tier : kMemoryTiers) {
      at_tier(item.use, tier) = k * static_cast<double>(a.storage[tier].value()) +
                                l * static_cast<double>(b.storage[tier].value());
    }
    item.row = row;
    item.count = k;
    item.other_row = other_row;
    item.other_count = l;
    return add_item(item);
  };
  const std::uint32_t other_max = num_usable == 2 ? b.max_per_rank : 0;
  for (std::uint32_t k = 0; k <= a.max_per_rank; ++k) {
    if (k > 0 && !add(k, 0)) break;
    for (std::uint32_t l = 1; l <= other_max; ++l) {
      if (!add(k, l)) break;
    }
  }
}

// Adds the item, or returns false if the item does not fit a rank.
bool Knapsack::add_item(const Item& item) {
  if (!fits(item.use)) return false;
  items_.push_back(item);
  return true;
}

// Removes dominated items from index `first` on. Of equal items, the first one stays.
void Knapsack::drop_dominated_items(std::size_t first) {
  std::size_t kept = first;
  for (std::size_t i = first; i < items_.size(); ++i) {
    const Item item = items_[i];
    bool dominated = false;
    for (std::size_t j = first; j < items_.size() && !dominated; ++j) {
      const Item& other = items_[j];
      const bool no_worse = other.value >= item.value && other.use.fits_in(item.use);
      const bool equal = other.value == item.value && other.use == item.use;
      // Items before `kept` stay. Items after i have not been visited yet.
      dominated = j != i && (j < kept || j > i) && no_worse && (!equal || j < kept);
    }
    if (!dominated) items_[kept++] = item;
  }
  items_.resize(kept);
}

void Knapsack::round_down(double units) {
  const std::vector<Item> all = std::move(items_);
  items_.clear();
  const auto rounded = [&](double size, double capacity) {
    const double unit = capacity / units;
    return capacity > 0 ? std::floor(size / unit) * unit : size;
  };
  for (ItemClass& item_class : classes_) {
    const std::size_t first = items_.size();
    for (std::uint32_t i = item_class.first_item; i < item_class.first_item + item_class.num_items;
         ++i) {
      Item item = all[i];
      item.use = {rounded(item.use.load, capacity_.load), rounded(item.use.hbm, capacity_.hbm),
                  rounded(item.use.ddr, capacity_.ddr), rounded(item.use.ssd, capacity_.ssd)};
      items_.push_back(item);
    }
    drop_dominated_items(first);
    item_class.first_item = static_cast<std::uint32_t>(first);
    item_class.num_items = static_cast<std::uint32_t>(items_.size() - first);
    item_class.max_use = {};
  }
}

void Knapsack::sort_classes(const CapacityMultipliers& multipliers) {
  for (ItemClass& item_class : classes_) {
    item_class.best_reduced_value = 0;
    for (const Item& item : items_of(item_class)) {
      item_class.best_reduced_value =
          std::max(item_class.best_reduced_value, reduced_value(item.value, item.use, multipliers));
      item_class.max_use = componentwise_max(item_class.max_use, item.use);
    }
  }
  std::stable_sort(classes_.begin(), classes_.end(), [](const ItemClass& a, const ItemClass& b) {
    return a.best_reduced_value > b.best_reduced_value;
  });
}

std::uint32_t Knapsack::multiplicity_bound(const ItemClass& item_class) const {
  double most = item_class.copies;
  const auto limit = [&](double Resources::*resource) {
    double least = capacity_.*resource;
    for (const Item& item : items_of(item_class))
      least = std::min(least, item.use.*resource);
    if (least > 0) most = std::min(most, capacity_.*resource / least);
  };
  limit(&Resources::load);
  limit(&Resources::hbm);
  limit(&Resources::ddr);
  limit(&Resources::ssd);
  return static_cast<std::uint32_t>(most) + 1;
}

namespace {

// Sorting and comparing n labels counts as n log n / kComparisonsPerStep steps.
constexpr std::uint64_t kComparisonsPerStep = 4;

}  // namespace

void CompletionBound::reset(const Knapsack& knapsack) {
  knapsack_ = &knapsack;
  relaxations_.clear();
}

void CompletionBound::add_relaxation(const CapacityMultipliers& multipliers) {
  Relaxation& added = relaxations_.emplace_back();
  const Resources& capacity = knapsack_->capacity();
  added.multipliers = multipliers;
  added.max_value = cost_at(multipliers, capacity);
  for (const ItemClass& item_class : knapsack_->classes()) {
    double best = 0;
    for (const Item& item : knapsack_->items_of(item_class))
      best = std::max(best, reduced_value(item.value, item.use, multipliers));
    added.best_values.push_back(item_class.copies * best);
    added.max_value += added.best_values.back();
  }
}

void CompletionBound::begin() {
  for (Relaxation& relaxation : relaxations_)
    relaxation.rest = relaxation.max_value;
  free_use_ = knapsack_->capacity();
  free_use_.load *= 1 - kPricingTolerance;  // so that rounding does not make a fit fail
  for (const ItemClass& item_class : knapsack_->classes())
    free_use_.remove(item_class.copies, item_class.max_use);
}

void CompletionBound::pass_value(std::size_t class_index) {
  for (Relaxation& relaxation : relaxations_)
    relaxation.rest -= relaxation.best_values[class_index];
}

void CompletionBound::pass_use(const ItemClass& item_class) {
  free_use_.remove(-static_cast<double>(item_class.copies), item_class.max_use);
}

void CompletionBound::look_ahead(const ItemClass& item_class, std::uint32_t item) {
  for (Relaxation& relaxation : relaxations_) {
    relaxation.copy_ahead = 0;
    for (std::uint32_t i = item; i < item_class.first_item + item_class.num_items; ++i) {
      const Item& next = knapsack_->items()[i];
      relaxation.copy_ahead = std::max(relaxation.copy_ahead,
                                       reduced_value(next.value, next.use, relaxation.multipliers));
    }
  }
}

bool ParetoFront::dominates(double hbm, double value) const {
  const auto next =
      std::upper_bound(points_.begin(), points_.end(), hbm,
                       [](double own, const auto& point) { return own < point.first; });
  return next != points_.begin() && std::prev(next)->second >= value;
}

void ParetoFront::add(double hbm, double value) {
  const auto begin =
      std::lower_bound(points_.begin(), points_.end(), hbm,
                       [](const auto& point, double own) { return point.first < own; });
  auto end = begin;
  while (end != points_.end() && end->second <= value)
    ++end;
  points_.insert(points_.erase(begin, end), {hbm, value});
}

// A merge sort of runs of ascending load. There are few runs: the kept labels and those that each
// item added are sorted by load. Labels of equal load are sorted afterwards.
void DominanceFilter::sort() {
  const auto by_load = [](const Key& a, const Key& b) { return a.load < b.load; };
  runs_.assign(1, 0);
  for (std::size_t i = 1; i < order_.size(); ++i) {
    if (by_load(order_[i], order_[i - 1])) runs_.push_back(i);
  }
  runs_.push_back(order_.size());
  const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
  while (runs_.size() > 2) {
    merged_.clear();
    std::size_t kept = 0;
    for (std::size_t run = 0; run + 1 < runs_.size(); run += 2) {
      const std::size_t middle = runs_[run + 1];
      const std::size_t end = run + 2 < runs_.size() ? runs_[run + 2] : middle;
      std::merge(at(runs_[run]), at(middle), at(middle), at(end), std::back_inserter(merged_),
                 by_load);
      runs_[++kept] = end;
    }
    runs_.resize(kept + 1);
    order_.swap(merged_);
  }
  for (auto first = order_.begin(); first != order_.end();) {
    const auto end = std::find_if(first + 1, order_.end(),
                                  [&](const Key& key) { return key.load != first->load; });
    if (end - first > 1) {
      std::sort(first, end, [](const Key& a, const Key& b) {
        return a.value != b.value ? a.value > b.value : a.last < b.last;
      });
    }
    first = end;
  }
}

bool DominanceFilter::is_dominated(const Label& label) const {
  if (front_.dominates(label.use.hbm, label.value)) return true;
  const std::size_t size = off_front_.size();
  const std::size_t end = size - std::min(size, max_comparisons_);
  for (std::size_t k = size; k-- > end;) {
    const Label& other = off_front_[k];
    if (other.value >= label.value && other.use.hbm <= label.use.hbm &&
        other.use.ddr <= label.use.ddr && other.use.ssd <= label.use.ssd &&
        other.copies <= label.copies) {
      return true;
    }
  }
  return false;
}

void DominanceFilter::apply(const CompletionBound& completion, std::uint32_t equal_copies,
                            std::vector<Label>& labels) {
  order_.clear();
  for (const Label& label : labels) {
    order_.push_back({completion.counted_use(label.use).load, label.value, label.last,
                      static_cast<std::uint32_t>(order_.size())});
  }
  sort();
  kept_.clear();
  off_front_.clear();
  front_.clear();
  // The front ignores DDR, SSD and copies, so only labels with the least of all three may enter it.
  const double least_ddr = std::max(completion.free_use().ddr, 0.0);
  const double least_ssd = std::max(completion.free_use().ssd, 0.0);
  for (const Key& key : order_) {
    const Label& label = labels[key.index];
    const Label counted{completion.counted_use(label.use), label.value, label.last,
                        std::max(label.copies, equal_copies)};
    if (is_dominated(counted)) continue;
    kept_.push_back(label);
    if (counted.copies == equal_copies && counted.use.ddr <= least_ddr &&
        counted.use.ssd <= least_ssd) {
      front_.add(counted.use.hbm, counted.value);
    } else {
      off_front_.push_back(counted);
    }
  }
  labels.swap(kept_);
}

void LabelSearch::begin(const Knapsack& knapsack, const CapacityMultipliers& multipliers,
                        double at_least) {
  knapsack_ = &knapsack;
  multipliers_ = multipliers;
  completion_.reset(knapsack);
  completion_.add_relaxation(multipliers);
  for (const KnapsackParameters::Scale& scale : parameters_.other_relaxations) {
    completion_.add_relaxation({multipliers.load * scale.load, multipliers.hbm * scale.hbm,
                                multipliers.ddr, multipliers.ssd});
  }
  steps_ += (1 + parameters_.other_relaxations.size()) * knapsack.items().size();
  fill_greedily();
  threshold_ = std::max(at_least, best_.value);
}

// Fills best_: for every class in turn, adds the items of largest reduced value that still fit.
void LabelSearch::fill_greedily() {
  trail_.assign(1, Step{});
  Label greedy;
  for (const ItemClass& item_class : knapsack_->classes()) {
    for (std::uint32_t k = 0; k < item_class.copies; ++k) {
      const Item* best = nullptr;
      double best_reduced_value = 0;
      for (const Item& item : knapsack_->items_of(item_class)) {
        if (!knapsack_->fits(greedy.use + item.use)) continue;
        const double reduced = reduced_value(item.value, item.use, multipliers_);
        if (best != nullptr && reduced <= best_reduced_value) continue;
        best = &item;
        best_reduced_value = reduced;
      }
      if (best == nullptr) break;
      trail_.push_back({greedy.last, static_cast<std::uint32_t>(best - knapsack_->items().data())});
      greedy.use += best->use;
      greedy.value += best->value;
      greedy.last = static_cast<std::uint32_t>(trail_.size() - 1);
    }
  }
  best_ = greedy;
  last_of_other_half_ = 0;
}

void LabelSearch::run_beam() { extend_from(0, parameters_.beam_width, parameters_.beam_width); }

bool LabelSearch::run_to_end() {
  const std::size_t num_classes = knapsack_->classes().size();
  const std::size_t end = extend_from(0, parameters_.max_labels_of_first_half, 0);
  if (end == num_classes) return true;
  if (labels_.size() > KnapsackParameters::kMaxLabels) return false;
  std::vector<Label> others = labels_;
  if (extend_from(end, KnapsackParameters::kMaxLabels, 0) < num_classes) return false;
  join(std::move(others));
  return true;
}

// Makes labels for the classes from `first` on, until there are more than `max_labels` labels.
// Completion bounds allow for all other classes. A `beam_width` of 0 keeps all labels. Returns the
// first class that the labels do not cover.
std::size_t LabelSearch::extend_from(std::size_t first, std::size_t max_labels,
                                     std::size_t beam_width) {
  labels_.assign(1, Label{});
  completion_.begin();
  for (std::size_t i = first; i < knapsack_->classes().size(); ++i) {
    if (labels_.size() > max_labels || !extend(i, beam_width)) return i;
  }
  return knapsack_->classes().size();
}

// Extends the labels by all combinations of items of the class that fit. Items are added in order,
// so no combination appears twice. Returns false if there are too many labels.
bool LabelSearch::extend(std::size_t class_index, std::size_t beam_width) {
  const ItemClass& item_class = knapsack_->classes()[class_index];
  completion_.pass_value(class_index);
  const bool is_single = item_class.copies == 1;
  if (is_single) completion_.pass_use(item_class);
  const std::uint32_t equal_copies =
      is_single ? 0
                : item_class.copies -
                      std::min(item_class.copies, knapsack_->multiplicity_bound(item_class));
  for (std::uint32_t item = item_class.first_item;
       item < item_class.first_item + item_class.num_items; ++item) {
    if (!is_single) completion_.look_ahead(item_class, item);
    add_item(item, item_class.copies);
    if (!is_single) {
      drop_dominated(equal_copies);
      keep_most_promising(beam_width);
    }
    if (labels_.size() > KnapsackParameters::kMaxLabels) return false;
  }
  if (!is_single) completion_.pass_use(item_class);
  for (Label& label : labels_)
    label.copies = 0;
  std::erase_if(labels_, [&](const Label& label) { return !can_win(label, 0); });
  drop_dominated(0);
  keep_most_promising(beam_width);
  return true;
}

// Adds up to `copies` of the item to every label. The loop also visits the labels that it appends.
void LabelSearch::add_item(std::uint32_t index, std::uint32_t copies) {
  const Item& item = knapsack_->items()[index];
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    ++steps_;
    if (labels_[i].copies == copies) continue;
    Label more = labels_[i];
    more.use += item.use;
    more.value += item.value;
    ++more.copies;
    if (!knapsack_->fits(more.use) || !can_win(more, copies - more.copies)) continue;
    trail_.push_back({more.last, index});
    more.last = static_cast<std::uint32_t>(trail_.size() - 1);
    if (more.value > threshold_ || (more.value > best_.value && best_.value < threshold_)) {
      take_best(more, 0);
    }
    labels_.push_back(more);
  }
}

void LabelSearch::take_best(const Label& label, std::uint32_t last_of_other_half) {
  best_ = label;
  last_of_other_half_ = last_of_other_half;
  threshold_ = std::max(threshold_, label.value);
}

bool LabelSearch::can_win(const Label& label, std::uint32_t copies_ahead) const {
  return completion_.can_exceed(label, copies_ahead, threshold_ * (1 + kPricingTolerance));
}

void LabelSearch::drop_dominated(std::uint32_t equal_copies) {
  steps_ += labels_.size() * std::bit_width(labels_.size()) / kComparisonsPerStep;
  dominance_.apply(completion_, equal_copies, labels_);
}

void LabelSearch::keep_most_promising(std::size_t beam_width) {
  if (beam_width == 0 || labels_.size() <= beam_width) return;
  const auto middle = labels_.begin() + static_cast<std::ptrdiff_t>(beam_width);
  std::nth_element(labels_.begin(), middle, labels_.end(), [&](const Label& a, const Label& b) {
    const double reduced_a = reduced_value(a.value, a.use, multipliers_);
    const double reduced_b = reduced_value(b.value, b.use, multipliers_);
    return reduced_a != reduced_b ? reduced_a > reduced_b : a.last < b.last;
  });
  labels_.resize(beam_width);
}

// Finds the best pair of a label in labels_ and a label in `others` that fit a rank together.
void LabelSearch::join(std::vector<Label> others) {
  std::sort(others.begin(), others.end(), [](const Label& a, const Label& b) {
    return a.value != b.value ? a.value > b.value : a.last < b.last;
  });
  std::uint64_t pairs = 0;
  for (const Label& label : labels_) {
    for (const Label& other : others) {
      ++pairs;
      const double value = label.value + other.value;
      if (value <= threshold_) break;
      if (!knapsack_->fits(label.use + other.use)) continue;
      take_best({label.use, value, label.last, label.copies}, other.last);
      break;
    }
  }
  steps_ += pairs / parameters_.pairs_per_step;
}

std::vector<Item> LabelSearch::best_items() const {
  std::vector<Item> items;
  for (const std::uint32_t last : {best_.last, last_of_other_half_}) {
    for (std::uint32_t at = last; at != 0; at = trail_[at].previous)
      items.push_back(knapsack_->items()[trail_[at].item]);
  }
  return items;
}

}  // namespace shardwright::embedding
