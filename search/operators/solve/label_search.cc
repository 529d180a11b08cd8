#include "search/operators/solve/label_search.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace shardwright::operators {

void LabelSearch::Labels::clear() {
  list.clear();
  bytes.clear();
  parts.clear();
}

LabelSearch::LabelSearch(const BucketTree& tree, const MemoryPrices& memory, std::size_t max_labels,
                         const LabelParameters& parameters)
    : tree_(&tree),
      memory_(&memory),
      max_labels_(max_labels),
      parameters_(parameters),
      rows_(memory.num_rows()),
      times_(memory.times().size()),
      granted_(memory.granted(memory.prices())),
      costs_(memory.priced_costs(memory.prices())),
      tables_(tree),
      lists_(tree.buckets().size()) {
  for (std::size_t r = 0; r < rows_; ++r)
    limits_.push_back(memory.limit(r));
  tables_.minimize(costs_, choice_);
  tables_.compute_outside();
}

LabelSearch::End LabelSearch::run(double cutoff, Budget& budget) {
  cutoff_ = cutoff;
  labels_.clear();
  bool fits = true;
  for (std::uint32_t b = 0; b < lists_.size() && fits; ++b) {
    if (!budget.work_left()) return End::kGivenUp;
    const std::uint64_t before = combinations_;
    lists_[b].assign(tree_->buckets()[b].entries, {});
    tables_.for_each_entry(
        b,
        [&](std::size_t entry) {
          return fits && tables_.message(b, entry) + tables_.outside(b, entry) - granted_ < cutoff_;
        },
        [&](std::size_t entry, std::span<const double> sums) {
          fits = !budget.interrupted() && list_entry(b, entry, sums);
        });
    budget.spend(tree_->buckets()[b].entries + combinations_ - before);
  }
  return fits ? pick() : End::kGivenUp;
}

// Returns false if the number of labels, or of combinations made for them, exceeds its limit.
bool LabelSearch::affordable(std::size_t num_labels) const {
  return num_labels <= max_labels_ &&
         combinations_ <= parameters_.combinations_per_label * max_labels_;
}

bool LabelSearch::list_entry(std::uint32_t b, std::size_t entry, std::span<const double> sums) {
  const Buckets::Bucket& bucket = tree_->buckets()[b];
  const double outside = tables_.outside(b, entry) - granted_;
  entry_.clear();
  for (std::uint32_t s = 0; s < sums.size(); ++s) {
    if (sums[s] + outside >= cutoff_) continue;
    begin_label(b, s, sums[s]);
    if (!combine_all(outside)) return false;
    append(partial_, entry_, bucket.num_children);
  }
  remove_dominated(entry_, bucket.num_children);
  const auto begin = static_cast<std::uint32_t>(labels_.list.size());
  append(entry_, labels_, bucket.num_children);
  lists_[b][entry] = {begin, static_cast<std::uint32_t>(labels_.list.size())};
  return affordable(labels_.list.size());
}

// Starts a label with the node's own cost and bytes, and collects the lists of the children.
void LabelSearch::begin_label(std::uint32_t b, std::uint32_t s, double sum) {
  const Buckets& buckets = tree_->buckets();
  const Buckets::Bucket& bucket = buckets[b];
  Label label;
  label.strategy = s;
  label.cost = tree_->instance().costs(bucket.variable)[s];
  label.priced = sum;
  children_.clear();
  const auto factors = buckets.factors(bucket);
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (!factors[f].is_message) label.cost += tables_.row(f)[s];
  }
  for (const std::uint32_t f : tree_->children(bucket)) {
    const std::uint32_t child = factors[f].source;
    const std::size_t at = tables_.offset(bucket, f) + s;
    children_.push_back({lists_[child][at], tables_.message(child, at)});
  }
  partial_.clear();
  partial_.list.push_back(label);
  for (std::size_t r = 0; r < rows_; ++r) {
    partial_.bytes.push_back(memory_->bytes(r, bucket.variable, s));
  }
}

bool LabelSearch::combine_all(double outside) {
  for (std::size_t c = 0; c < children_.size() && !partial_.list.empty(); ++c) {
    if (!combine(c, outside)) return false;
    if (c > 0) remove_dominated(partial_, c + 1);
  }
  return true;
}

// Combines every partial label with every label of child number `c`.
bool LabelSearch::combine(std::size_t c, double outside) {
  const auto [range, least] = children_[c];
  next_.clear();
  for (std::size_t i = 0; i < partial_.list.size(); ++i) {
    const std::int64_t* held = partial_.bytes.data() + i * rows_;
    const double priced = partial_.list[i].priced - least;
    for (std::uint32_t l = range.begin; l < range.end; ++l) {
      ++combinations_;
      const double sum = priced + labels_.list[l].priced;
      // The labels of a list ascend by priced cost.
      if (sum + outside >= cutoff_) break;
      const std::int64_t* more = labels_.bytes.data() + l * rows_;
      bool fits = true;
      for (std::size_t r = 0; r < rows_ && fits; ++r)
        fits = held[r] + more[r] <= limits_[r];
      if (!fits) continue;
      Label& label = next_.list.emplace_back(partial_.list[i]);
      label.cost += labels_.list[l].cost;
      label.priced = sum;
      for (std::size_t r = 0; r < rows_; ++r)
        next_.bytes.push_back(held[r] + more[r]);
      const auto parts = partial_.parts.begin() + static_cast<std::ptrdiff_t>(i * c);
      next_.parts.insert(next_.parts.end(), parts, parts + static_cast<std::ptrdiff_t>(c));
      next_.parts.push_back(l);
    }
    if (!affordable(next_.list.size())) return false;
  }
  std::swap(partial_, next_);
  return true;
}

// Keeps only the labels in order_, in that order.
void LabelSearch::keep(Labels& labels, std::size_t num_parts) {
  kept_.clear();
  for (const std::uint32_t i : order_) {
    const auto bytes = labels.bytes.begin() + static_cast<std::ptrdiff_t>(i * rows_);
    const auto parts = labels.parts.begin() + static_cast<std::ptrdiff_t>(i * num_parts);
    kept_.list.push_back(labels.list[i]);
    kept_.bytes.insert(kept_.bytes.end(), bytes, bytes + static_cast<std::ptrdiff_t>(rows_));
    kept_.parts.insert(kept_.parts.end(), parts, parts + static_cast<std::ptrdiff_t>(num_parts));
  }
  std::swap(labels, kept_);
}

// Removes each label that another label dominates: it costs no more, and holds no more at any time
// point. Sorts the remaining labels by priced cost.
void LabelSearch::remove_dominated(Labels& labels, std::size_t num_parts) {
  if (labels.list.size() < 2) return;
  by_cost_.resize(labels.list.size());
  std::iota(by_cost_.begin(), by_cost_.end(), 0U);
  const auto bytes = [&](std::uint32_t i) { return labels.bytes.data() + i * rows_; };
  std::sort(by_cost_.begin(), by_cost_.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (labels.list[a].cost != labels.list[b].cost)
      return labels.list[a].cost < labels.list[b].cost;
    return std::lexicographical_compare(bytes(a), bytes(a) + rows_, bytes(b), bytes(b) + rows_) ||
           (std::equal(bytes(a), bytes(a) + rows_, bytes(b)) && a < b);
  });
  order_.clear();
  for (const std::uint32_t i : by_cost_) {
    // Limits that are not memory limits matter only between labels of equal cost and bytes.
    const auto lighter = [&](std::uint32_t j) {
      if (!std::equal(bytes(j), bytes(j) + times_, bytes(i), std::less_equal<>())) return false;
      return times_ == rows_ || labels.list[j].cost < labels.list[i].cost ||
             !std::equal(bytes(j), bytes(j) + times_, bytes(i)) ||
             std::equal(bytes(j) + times_, bytes(j) + rows_, bytes(i) + times_,
                        std::less_equal<>());
    };
    // With a single time point, the label that was kept last is the lightest so far.
    const auto first = times_ == 1 && !order_.empty() ? order_.end() - 1 : order_.begin();
    const auto beaten_by = std::find_if(first, order_.end(), lighter);
    combinations_ +=
        static_cast<std::uint64_t>(beaten_by - first) / parameters_.comparisons_per_combination;
    if (beaten_by == order_.end()) order_.push_back(i);
  }
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(labels.list[a].priced, a) < std::pair(labels.list[b].priced, b);
  });
  keep(labels, num_parts);
}

void LabelSearch::append(const Labels& from, Labels& to, std::size_t num_parts) const {
  for (std::size_t i = 0; i < from.list.size(); ++i) {
    Label label = from.list[i];
    label.parts = static_cast<std::uint32_t>(to.parts.size() + i * num_parts);
    to.list.push_back(label);
  }
  to.bytes.insert(to.bytes.end(), from.bytes.begin(), from.bytes.end());
  to.parts.insert(to.parts.end(), from.parts.begin(), from.parts.end());
}

// Finds the cheapest combination of one label per root within the limits.
LabelSearch::End LabelSearch::pick() {
  std::vector<std::uint32_t> roots;
  partial_.clear();
  children_.clear();
  Label nothing;
  for (std::uint32_t b = 0; b < lists_.size(); ++b) {
    if (tree_->buckets()[b].parent != Buckets::kNone) continue;
    const double least = tables_.message(b, 0);
    roots.push_back(b);
    children_.push_back({lists_[b][0], least});
    nothing.priced += least;
  }
  partial_.list.push_back(nothing);
  partial_.bytes.assign(rows_, 0);
  if (!combine_all(-granted_)) return End::kGivenUp;
  if (partial_.list.empty()) return End::kNothing;
  const auto cheapest =
      std::min_element(partial_.list.begin(), partial_.list.end(),
                       [](const Label& a, const Label& b) { return a.cost < b.cost; });
  const auto at = static_cast<std::size_t>(cheapest - partial_.list.begin());
  cost_ = cheapest->cost;
  choice_.assign(lists_.size(), 0);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    unfold(roots[i], partial_.parts[at * roots.size() + i]);
  }
  return End::kFound;
}

void LabelSearch::unfold(std::uint32_t b, std::uint32_t label) {
  const Buckets::Bucket& bucket = tree_->buckets()[b];
  choice_[bucket.variable] = labels_.list[label].strategy;
  const std::uint32_t parts = labels_.list[label].parts;
  const auto children = tree_->children(bucket);
  for (std::size_t i = 0; i < children.size(); ++i) {
    unfold(tree_->buckets().factors(bucket)[children[i]].source, labels_.parts[parts + i]);
  }
}

}  // namespace shardwright::operators
