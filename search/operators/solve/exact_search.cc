#include "search/operators/solve/exact_search.h"

#include <algorithm>
#include <utility>

#include "search/operators/solve/memory_prices.h"

namespace shardwright::operators {
namespace {

// No feasible choice costs more.
double dearest(const CostInstance& instance) {
  const auto largest = [](std::span<const double> costs) {
    double most = 0;
    for (const double cost : costs) {
      if (cost < kForbidden) most = std::max(most, cost);
    }
    return most;
  };
  double sum = 0;
  for (std::size_t node = 0; node < instance.num_nodes(); ++node)
    sum += largest(instance.costs(node));
  for (const CostInstance::Edge& edge : instance.edges())
    sum += largest(instance.matrix(edge));
  return sum;
}

// Rounding of sums in another order.
constexpr double kRounding = 1e-11;

// The partial choices of all buckets that may be part of something cheaper than the best known.
// Thread safety: none.
class LabelSearch {
 public:
  LabelSearch(const BucketTree& tree, MemoryPrices& prices, double cutoff, std::size_t max_labels)
      : tree_(&tree), prices_(&prices), cutoff_(cutoff), max_labels_(max_labels) {}

  // False where there are too many.
  bool run(Budget& budget) {
    const std::size_t rows = prices_->times().size();
    const auto& multipliers = prices_->prices();
    tables().minimize(costs_ = prices_->priced_costs(multipliers), choice_);
    tables().compute_outside();
    granted_ = prices_->granted(multipliers);
    lists_.resize(tree_->buckets().size());
    for (std::uint32_t b = 0; b < lists_.size(); ++b) {
      if (budget.interrupted()) return false;
      lists_[b].assign(tree_->buckets()[b].entries, {});
      bool fits = true;
      tables().for_each_entry(b, [&](std::size_t entry, const auto&, const auto& sums) {
        if (fits) fits = list_entry(b, entry, sums, rows);
      });
      if (!fits) return false;
      budget.spend(tree_->buckets()[b].entries);
    }
    return true;
  }

  // The cheapest choice that is left, if any.
  bool best(std::vector<std::uint32_t>& choice) {
    std::vector<std::uint32_t> roots;
    std::vector<std::int64_t> bytes(prices_->times().size(), 0);
    for (std::uint32_t b = 0; b < lists_.size(); ++b) {
      if (tree_->buckets()[b].parent == BucketTree::kRoot) roots.push_back(b);
    }
    choice.assign(lists_.size(), 0);
    double least = kForbidden;
    std::vector<std::uint32_t> picked(roots.size(), 0);
    pick(roots, 0, 0, bytes, picked, least, choice);
    return least < kForbidden;
  }

 private:
  struct Label {
    double cost = 0;
    double priced = 0;
    std::uint32_t strategy = 0;
    std::uint32_t parts = 0;  // first of the labels of the children that it is made of
  };
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  BucketTables& tables() { return prices_->tables(); }
  std::size_t rows() const { return prices_->times().size(); }

  bool list_entry(std::uint32_t b, std::size_t entry, const std::vector<double>& sums,
                  std::size_t rows) {
    const double outside = tables().outside(b, entry) - granted_;
    const std::size_t first = labels_.size();
    for (std::uint32_t s = 0; s < sums.size(); ++s) {
      if (sums[s] + outside < cutoff_ && !extend(b, s, sums[s], outside)) return false;
    }
    remove_dominated(first, rows);
    lists_[b][entry] = {static_cast<std::uint32_t>(first),
                        static_cast<std::uint32_t>(labels_.size())};
    return labels_.size() <= max_labels_;
  }

  // All partial choices in which the bucket's node takes s: its own cost and bytes, with one label
  // of each child.
  bool extend(std::uint32_t b, std::uint32_t s, double sum, double outside) {
    const BucketTree::Bucket& bucket = tree_->buckets()[b];
    const CostInstance& instance = tree_->instance();
    partial_.clear();
    partial_bytes_.clear();
    partial_parts_.clear();
    Label own;
    own.strategy = s;
    own.cost = instance.costs(bucket.node)[s];
    // The priced cost with the children at their least; a label of a child replaces its least.
    own.priced = sum;
    children_.clear();
    for (std::size_t f = 0; f < bucket.factors.size(); ++f) {
      const std::size_t at = tables().offset(f) + s;
      if (bucket.factors[f].child == BucketTree::kRoot) {
        own.cost += bucket.factors[f].edge_costs[at];
      } else {
        children_.emplace_back(bucket.factors[f].child, at);
      }
    }
    partial_.push_back(own);
    for (std::size_t i = 0; i < rows(); ++i) {
      partial_bytes_.push_back(prices_->bytes(i, bucket.node, s));
    }
    for (std::size_t c = 0; c < children_.size(); ++c) {
      if (!combine(c, outside)) return false;
    }
    for (std::size_t i = 0; i < partial_.size(); ++i) {
      Label label = partial_[i];
      label.parts = static_cast<std::uint32_t>(parts_.size());
      parts_.insert(
          parts_.end(), partial_parts_.begin() + static_cast<std::ptrdiff_t>(i * children_.size()),
          partial_parts_.begin() + static_cast<std::ptrdiff_t>((i + 1) * children_.size()));
      labels_.push_back(label);
      bytes_.insert(bytes_.end(), partial_bytes_.begin() + static_cast<std::ptrdiff_t>(i * rows()),
                    partial_bytes_.begin() + static_cast<std::ptrdiff_t>((i + 1) * rows()));
    }
    return labels_.size() <= max_labels_;
  }

  bool combine(std::size_t c, double outside) {
    const auto [child, at] = children_[c];
    const double least = tables().message(child, at);
    const Range range = lists_[child][at];
    next_.clear();
    next_bytes_.clear();
    next_parts_.clear();
    for (std::size_t i = 0; i < partial_.size(); ++i) {
      for (std::uint32_t l = range.begin; l < range.end; ++l) {
        Label label = partial_[i];
        label.cost += labels_[l].cost;
        label.priced += labels_[l].priced - least;
        if (label.priced + outside >= cutoff_) continue;
        bool fits = true;
        for (std::size_t r = 0; r < rows() && fits; ++r) {
          fits = partial_bytes_[i * rows() + r] + bytes_[l * rows() + r] <= prices_->limit(r);
        }
        if (!fits) continue;
        next_.push_back(label);
        for (std::size_t r = 0; r < rows(); ++r) {
          next_bytes_.push_back(partial_bytes_[i * rows() + r] + bytes_[l * rows() + r]);
        }
        // Rows of parts have one column per child; those of later children are still empty.
        for (std::size_t k = 0; k < children_.size(); ++k) {
          next_parts_.push_back(k == c ? l : k < c ? partial_parts_[i * children_.size() + k] : 0);
        }
      }
    }
    partial_.swap(next_);
    partial_bytes_.swap(next_bytes_);
    partial_parts_.swap(next_parts_);
    return partial_.size() <= max_labels_;
  }

  // Of the labels from `first` on, keeps those that no other beats in cost and in bytes at every
  // time.
  void remove_dominated(std::size_t first, std::size_t rows) {
    const std::size_t count = labels_.size() - first;
    if (count < 2) return;
    order_.clear();
    for (std::size_t i = first; i < labels_.size(); ++i)
      order_.push_back(static_cast<std::uint32_t>(i));
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return labels_[a].cost < labels_[b].cost;
    });
    kept_.clear();
    for (const std::uint32_t i : order_) {
      const bool dominated = std::any_of(kept_.begin(), kept_.end(), [&](std::uint32_t j) {
        for (std::size_t r = 0; r < rows; ++r) {
          if (bytes_[j * rows + r] > bytes_[i * rows + r]) return false;
        }
        return true;
      });
      if (!dominated) kept_.push_back(i);
    }
    std::sort(kept_.begin(), kept_.end());
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      labels_[first + k] = labels_[kept_[k]];
      for (std::size_t r = 0; r < rows; ++r) {
        bytes_[(first + k) * rows + r] = bytes_[kept_[k] * rows + r];
      }
    }
    labels_.resize(first + kept_.size());
    bytes_.resize(labels_.size() * rows);
  }

  // One label per root, within the limits together.
  void pick(const std::vector<std::uint32_t>& roots, std::size_t at, double cost,
            const std::vector<std::int64_t>& bytes, std::vector<std::uint32_t>& picked,
            double& least, std::vector<std::uint32_t>& choice) {
    if (at == roots.size()) {
      if (cost >= least) return;
      least = cost;
      for (std::size_t i = 0; i < roots.size(); ++i)
        unfold(roots[i], picked[i], choice);
      return;
    }
    const Range range = lists_[roots[at]][0];
    for (std::uint32_t l = range.begin; l < range.end; ++l) {
      std::vector<std::int64_t> sum = bytes;
      bool fits = cost + labels_[l].cost < least;
      for (std::size_t r = 0; r < rows(); ++r) {
        sum[r] += bytes_[l * rows() + r];
        fits = fits && sum[r] <= prices_->limit(r);
      }
      if (!fits) continue;
      picked[at] = l;
      pick(roots, at + 1, cost + labels_[l].cost, sum, picked, least, choice);
    }
  }

  void unfold(std::uint32_t b, std::uint32_t label, std::vector<std::uint32_t>& choice) {
    const BucketTree::Bucket& bucket = tree_->buckets()[b];
    choice[bucket.node] = labels_[label].strategy;
    std::uint32_t part = labels_[label].parts;
    for (const BucketTree::Factor& factor : bucket.factors) {
      if (factor.child != BucketTree::kRoot) unfold(factor.child, parts_[part++], choice);
    }
  }

  const BucketTree* tree_;
  MemoryPrices* prices_;
  double cutoff_;
  std::size_t max_labels_;
  double granted_ = 0;
  std::vector<double> costs_;
  std::vector<std::uint32_t> choice_;
  std::vector<std::vector<Range>> lists_;  // by bucket and entry
  std::vector<Label> labels_;
  std::vector<std::int64_t> bytes_;  // by label and time taken in
  std::vector<std::uint32_t> parts_;
  // Scratch.
  std::vector<std::pair<std::uint32_t, std::size_t>> children_;
  std::vector<Label> partial_, next_;
  std::vector<std::int64_t> partial_bytes_, next_bytes_;
  std::vector<std::uint32_t> partial_parts_, next_parts_;
  std::vector<std::uint32_t> order_, kept_;
};

}  // namespace

ExactResult search_exactly(const BucketTree& tree,
                           const std::optional<std::vector<std::uint32_t>>& start,
                           std::size_t max_labels, Budget& budget) {
  const CostInstance& instance = tree.instance();
  ExactResult result;
  const double ceiling = dearest(instance) * (1 + kRounding) + 1;
  result.cost = ceiling;
  if (start) {
    result.choice = start;
    result.cost = evaluate(instance, *start).total();
  }
  MemoryPrices prices(tree, result);
  while (!budget.interrupted()) {
    prices.raise(budget);
    result.lower_bound = std::min(prices.bound(), result.cost);
    const double cutoff = result.cost * (1 - kRounding);
    result.finished = prices.bound() >= cutoff;
    if (result.finished || budget.interrupted()) break;
    LabelSearch search(tree, prices, cutoff, max_labels);
    if (!search.run(budget)) break;
    std::vector<std::uint32_t> choice;
    if (!search.best(choice)) {
      result.finished = true;
      result.lower_bound = result.cost;
      break;
    }
    const CostEvaluation evaluation = evaluate(instance, choice);
    // Cheapest within the limits of the time points taken in, so a bound; optimal if within all.
    result.lower_bound = std::max(result.lower_bound, evaluation.total() * (1 - kRounding));
    if (evaluation.feasible()) {
      result.choice = choice;
      result.cost = evaluation.total();
      result.lower_bound = result.cost;
      result.finished = true;
      break;
    }
    if (!prices.take_in(choice)) break;
  }
  if (!result.choice) result.cost = kForbidden;
  if (result.finished && !result.choice) result.lower_bound = kForbidden;
  return result;
}

}  // namespace shardwright::operators
