#include "search/operators/solve/exact/exact_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "search/operators/solve/exact/price_bundle.h"

namespace shardwright::operators {
namespace {

// Maximises the least priced cost over the prices, which is the best lower bound that prices can
// give. Choices that are cheapest at the best prices make a mean that keeps the limits of all time
// points with prices. A time point gets a price if the mean exceeds its limit, the one that is
// exceeded most first: mostly one or two bind.
// Thread safety: one thread at a time.
class MemoryPrices {
 public:
  // Begins with the prices that are `known`, by time point; there may be none.
  MemoryPrices(const BucketTree& tree, ExactResult& best, std::span<const double> known = {},
               const MemoryPriceParameters& parameters = {});

  // Adds a time point that has none yet.
  void add(std::uint32_t time, double price) {
    const CostInstance& instance = tree_->instance();
    best_prices_.push_back(price);
    times_.push_back(time);
    std::vector<std::int64_t>& bytes = bytes_.emplace_back(tree_->num_costs(), 0);
    for (std::uint32_t node = 0; node < instance.num_nodes(); ++node) {
      for (const CostInstance::Usage& usage : instance.usages(node)) {
        if (time < usage.live.begin || time >= usage.live.end) continue;
        for (std::uint32_t s = 0; s < instance.num_strategies(node); ++s)
          bytes[tree_->first_cost(node) + s] += instance.bytes(usage, s);
      }
    }
  }

  // Improves the bound and the prices until they no longer move, the budget ends or optimality is
  // proved. Better choices within the limits are kept in `best`.
  void raise(Budget& budget) {
    while (!budget.interrupted()) {
      lines_ = num_rows() == 1 ? raise_single(budget) : raise_several(budget);
      if (bound_ >= best_->cost || !take_in_mean(lines_)) return;
    }
  }

  // Adds the time point without a price whose limit the choice exceeds most. Returns false if there
  // is none.
  bool take_in(std::span<const std::uint32_t> choice) {
    Line line;
    line.choice.assign(choice.begin(), choice.end());
    line.weight = 1;
    return take_in_mean({&line, 1});
  }

  // The time points with a price. Rows are these.
  const std::vector<std::uint32_t>& times() const { return times_; }
  std::size_t num_rows() const { return times_.size(); }
  // By row, the prices that gave the bound.
  const std::vector<double>& prices() const { return best_prices_; }
  std::int64_t limit(std::size_t row) const { return tree_->instance().limits()[times_[row]]; }

  std::int64_t bytes(std::size_t row, std::uint32_t node, std::uint32_t strategy) const {
    return bytes_[row][tree_->first_cost(node) + strategy];
  }

  std::vector<double> priced_costs(std::span<const double> prices) const {
    const CostInstance& instance = tree_->instance();
    std::vector<double> costs;
    costs.reserve(tree_->num_costs());
    for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
      const auto own = instance.costs(node);
      costs.insert(costs.end(), own.begin(), own.end());
    }
    for (std::size_t row = 0; row < num_rows(); ++row) {
      if (prices[row] == 0) continue;
      const std::vector<std::int64_t>& own = bytes_[row];
      for (std::size_t s = 0; s < costs.size(); ++s)
        costs[s] += prices[row] * static_cast<double>(own[s]);
    }
    return costs;
  }

  // The sum of price times limit, which the priced cost overstates.
  double granted(std::span<const double> prices) const {
    double sum = 0;
    for (std::size_t row = 0; row < num_rows(); ++row)
      sum += prices[row] * static_cast<double>(limit(row));
    return sum;
  }

  double bound() const { return bound_; }
  BucketTables& tables() { return tables_; }

 private:
  // A choice that is cheapest at some prices, and how its priced cost depends on them.
  struct Line {
    std::vector<std::uint32_t> choice;
    double cost = 0;
    std::vector<double> excess;  // by row
    double weight = 0;           // in the mean

    double at(std::span<const double> prices) const;
  };

  // Finds a choice of the least priced cost, which is a lower bound.
  Line evaluate(std::span<const double> prices) {
    const std::vector<double> costs = priced_costs(prices);
    Line line;
    const double bound = tables_.minimize(costs, line.choice) - granted(prices);
    if (bound > bound_ || best_prices_.size() < num_rows()) {
      bound_ = std::max(bound_, bound);
      best_prices_.assign(prices.begin(), prices.end());
    }
    line.cost = operators::evaluate(tree_->instance(), line.choice).total();
    line.excess = excess(line.choice);
    return line;
  }

  // Keeps the choice if it is within all limits and cheaper than the best.
  void offer(const std::vector<std::uint32_t>& choice) {
    const CostEvaluation evaluation = operators::evaluate(tree_->instance(), choice);
    if (!evaluation.feasible() || evaluation.total() >= best_->cost) return;
    best_->cost = evaluation.total();
    best_->choice = choice;
  }

  // The bound is concave and piecewise linear in one price. Each choice gives a line; the lines of
  // a choice over and one under the limit meet at the next price to try. Ends at the maximum, with
  // these two lines.
  std::vector<Line> raise_single(Budget& budget) {
    std::optional<Line> over;
    std::optional<Line> under;
    std::vector<double> price = best_prices_;
    double step = price[0] > 0 ? parameters_.known_price_step : parameters_.price_growth;
    for (int i = 0; i < parameters_.most_single_steps && !budget.interrupted(); ++i) {
      Line line = evaluate(price);
      budget.spend(tree_->num_costs());
      if (!(line.cost < kForbidden)) break;
      offer(line.choice);
      std::optional<Line>& side = line.excess[0] > 0 ? over : under;
      const bool known = side && side->cost == line.cost && side->excess == line.excess;
      side = std::move(line);
      if ((known && over && under) || (under && price[0] == 0)) break;
      if (over && under) {
        price[0] = std::max(0.0, (under->cost - over->cost) / (over->excess[0] - under->excess[0]));
      } else if (under) {
        price[0] = step < parameters_.price_growth ? price[0] / step : 0;
      } else {
        if (bound_ > best_->cost) break;  // even the lightest choice exceeds the limit
        price[0] = std::max(price[0] * step,
                            parameters_.first_price * std::max(over->cost, 1.0) / over->excess[0]);
      }
      step = std::min(step * step, parameters_.price_growth);
    }
    std::vector<Line> lines;
    if (over && under) {
      over->weight = -under->excess[0] / (over->excess[0] - under->excess[0]);
      under->weight = 1 - over->weight;
    } else if (under) {
      under->weight = 1;
    }
    for (std::optional<Line>* line : {&over, &under}) {
      if (*line) lines.push_back(*std::move(*line));
    }
    return lines;
  }

  // Ends when a stretch of steps closes little of the gap. Returns the lines of the last step.
  std::vector<Line> raise_several(Budget& budget) {
    PriceBundle bundle(best_prices_, parameters_.bundle);
    std::vector<Line> lines;
    double before = bound_;
    for (int i = 0; i < parameters_.most_steps && !budget.interrupted(); ++i) {
      Line line = evaluate(bundle.prices());
      budget.spend(tree_->num_costs());
      if (!(line.cost < kForbidden)) return {};
      offer(line.choice);
      if (num_rows() == 0) {
        line.weight = 1;
        lines.push_back(std::move(line));
        return lines;
      }
      if (bound_ >= best_->cost) break;
      const std::size_t at = bundle.add(line.at(bundle.prices()), line.excess);
      if (at == lines.size()) lines.emplace_back();
      lines[at] = std::move(line);
      std::vector<double> values;
      values.reserve(lines.size());
      for (const Line& each : lines)
        values.push_back(each.at(bundle.prices()));
      const double blind = bound_ + std::max(std::abs(bound_) * parameters_.blind_target, 1.0);
      const double target = best_->choice ? best_->cost : blind;
      budget.spend(bundle.move(values, target));
      if ((i + 1) % parameters_.stretch != 0) continue;
      if (bound_ - before < parameters_.progress * (target - before)) break;
      before = bound_;
    }
    for (std::size_t i = 0; i < lines.size(); ++i)
      lines[i].weight = bundle.weight(i);
    return lines;
  }

  bool take_in_mean(std::span<const Line> lines) {
    const auto limits = tree_->instance().limits();
    std::vector<double> excess;
    for (const std::int64_t limit : limits)
      excess.push_back(-static_cast<double>(limit));
    for (const Line& line : lines) {
      if (line.weight == 0) continue;
      const std::vector<std::int64_t> held = held_bytes(tree_->instance(), line.choice);
      for (std::size_t t = 0; t < held.size(); ++t)
        excess[t] += line.weight * static_cast<double>(held[t]);
    }
    return take_in_worst(excess);
  }

  bool take_in_worst(std::span<const double> excess) {
    // Means are rounded; whole bytes are not.
    constexpr double kRounding = 0.5;
    std::optional<std::uint32_t> worst;
    for (std::uint32_t t = 0; t < excess.size(); ++t) {
      if (excess[t] < kRounding || (worst && excess[t] <= excess[*worst])) continue;
      if (std::find(times_.begin(), times_.end(), t) == times_.end()) worst = t;
    }
    if (worst) add(*worst, 0);
    return worst.has_value();
  }

  std::vector<double> excess(std::span<const std::uint32_t> choice) const {
    std::vector<double> excess;
    for (std::size_t row = 0; row < num_rows(); ++row) {
      std::int64_t held = -limit(row);
      for (std::uint32_t node = 0; node < choice.size(); ++node)
        held += bytes(row, node, choice[node]);
      excess.push_back(static_cast<double>(held));
    }
    return excess;
  }

  const BucketTree* tree_;
  ExactResult* best_;
  MemoryPriceParameters parameters_;
  BucketTables tables_;
  std::vector<std::uint32_t> times_;
  std::vector<std::vector<std::int64_t>> bytes_;  // by index of times_, then flat strategy
  std::vector<Line> lines_;                       // of the last raise()
  std::vector<double> best_prices_;
  double bound_ = 0;
};

MemoryPrices::MemoryPrices(const BucketTree& tree, ExactResult& best, std::span<const double> known,
                           const MemoryPriceParameters& parameters)
    : tree_(&tree), best_(&best), parameters_(parameters), tables_(tree) {
  for (std::uint32_t time = 0; time < known.size(); ++time) {
    if (known[time] == 0) continue;
    add(time, known[time]);
  }
}

double MemoryPrices::Line::at(std::span<const double> prices) const {
  double sum = cost;
  for (std::size_t i = 0; i < excess.size(); ++i)
    sum += prices[i] * excess[i];
  return sum;
}

// Lists partial choices bucket by bucket, each with its cost and its bytes at the time points that
// have prices. A partial choice is dropped if the least priced cost to complete it reaches the
// cutoff, or if another one is neither dearer nor heavier. Keeps its tables of bounds from call to
// call.
// Source: Handler and Zang, A dual algorithm for the constrained shortest path problem, 1980.
// Thread safety: one thread at a time.
class LabelSearch {
 public:
  // At most `max_labels` partial choices are kept at a time. The work of all calls together is
  // limited in proportion.
  LabelSearch(const BucketTree& tree, const MemoryPrices& memory, std::size_t max_labels,
              const LabelParameters& parameters = {});

  enum class End : std::uint8_t {
    kFound,
    kNothing,  // proved: there is no such choice
    kGivenUp,  // too many partial choices, or the budget ended
  };

  // Finds the cheapest choice of a priced cost below `cutoff` that is within the limits of the time
  // points with prices. Every choice within these limits that costs less than the cutoff has such a
  // priced cost. Work is counted in combinations of partial choices.
  End run(double cutoff, Budget& budget) {
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
            return fits &&
                   tables_.message(b, entry) + tables_.outside(b, entry) - granted_ < cutoff_;
          },
          [&](std::size_t entry, std::span<const double> sums) {
            fits = !budget.interrupted() && list_entry(b, entry, sums);
          });
      budget.spend(tree_->buckets()[b].entries + combinations_ - before);
    }
    return fits ? pick() : End::kGivenUp;
  }

  // After kFound.
  const std::vector<std::uint32_t>& choice() const { return choice_; }
  double cost() const { return cost_; }

 private:
  struct Label {
    double cost = 0;
    double priced = 0;  // priced cost of the cheapest completion within the bucket tables
    std::uint32_t strategy = 0;
    std::uint32_t parts = 0;  // first of its labels of children
  };

  // Labels by column: each is made of `num_parts` labels of children.
  struct Labels {
    std::vector<Label> list;
    std::vector<std::int64_t> bytes;
    std::vector<std::uint32_t> parts;

    void clear();
  };

  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  struct Child {
    Range range;
    double least;  // priced
  };

  // Returns false if the lists, or the work done for them, have become too much.
  bool affordable(std::size_t num_labels) const {
    return num_labels <= max_labels_ &&
           combinations_ <= parameters_.combinations_per_label * max_labels_;
  }

  bool list_entry(std::uint32_t bucket, std::size_t entry, std::span<const double> sums);
  void begin_label(std::uint32_t bucket, std::uint32_t strategy, double sum);

  bool combine_all(double outside) {
    for (std::size_t c = 0; c < children_.size() && !partial_.list.empty(); ++c) {
      if (!combine(c, outside)) return false;
      if (c > 0) remove_dominated(partial_, c + 1);
    }
    return true;
  }

  bool combine(std::size_t child, double outside);

  // Keeps the labels listed in order_, in that order.
  void keep(Labels& labels, std::size_t num_parts) {
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

  // Keeps the labels that no other one beats in cost and in bytes at every time point, in order of
  // priced cost.
  void remove_dominated(Labels& labels, std::size_t num_parts) {
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
      const auto lighter = [&](std::uint32_t j) {
        return std::equal(bytes(j), bytes(j) + rows_, bytes(i), std::less_equal<>());
      };
      // With a single time point, the last kept is the lightest so far.
      const auto first = rows_ == 1 && !order_.empty() ? order_.end() - 1 : order_.begin();
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

  void append(const Labels& from, Labels& to, std::size_t num_parts) const {
    for (std::size_t i = 0; i < from.list.size(); ++i) {
      Label label = from.list[i];
      label.parts = static_cast<std::uint32_t>(to.parts.size() + i * num_parts);
      to.list.push_back(label);
    }
    to.bytes.insert(to.bytes.end(), from.bytes.begin(), from.bytes.end());
    to.parts.insert(to.parts.end(), from.parts.begin(), from.parts.end());
  }

  // Combines one label per root such that together they are within the limits.
  End pick() {
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

  void unfold(std::uint32_t bucket, std::uint32_t label);

  const BucketTree* tree_;
  const MemoryPrices* memory_;
  std::size_t max_labels_;
  LabelParameters parameters_;
  std::size_t rows_;                  // time points with prices
  std::vector<std::int64_t> limits_;  // by row
  double granted_;                    // price times limit
  std::vector<double> costs_;         // priced
  BucketTables tables_;
  double cutoff_ = 0;
  std::uint64_t combinations_ = 0;  // in all calls
  std::vector<std::uint32_t> choice_;
  double cost_ = 0;
  std::vector<std::vector<Range>> lists_;  // by bucket and entry
  Labels labels_;
  // Scratch.
  std::vector<Child> children_;
  Labels partial_, next_, entry_, kept_;
  std::vector<std::uint32_t> order_, by_cost_;
};

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
      granted_(memory.granted(memory.prices())),
      costs_(memory.priced_costs(memory.prices())),
      tables_(tree),
      lists_(tree.buckets().size()) {
  for (std::size_t r = 0; r < rows_; ++r)
    limits_.push_back(memory.limit(r));
  tables_.minimize(costs_, choice_);
  tables_.compute_outside();
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

// Begins with the node's own cost and bytes, and collects the children's labels to combine with.
void LabelSearch::begin_label(std::uint32_t b, std::uint32_t s, double sum) {
  const Buckets& buckets = tree_->buckets();
  const Buckets::Bucket& bucket = buckets[b];
  Label own;
  own.strategy = s;
  own.cost = tree_->instance().costs(bucket.variable)[s];
  own.priced = sum;
  children_.clear();
  const auto factors = buckets.factors(bucket);
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (!factors[f].is_message) own.cost += tables_.row(f)[s];
  }
  for (const std::uint32_t f : tree_->children(bucket)) {
    const std::uint32_t child = factors[f].source;
    const std::size_t at = tables_.offset(bucket, f) + s;
    children_.push_back({lists_[child][at], tables_.message(child, at)});
  }
  partial_.clear();
  partial_.list.push_back(own);
  for (std::size_t r = 0; r < rows_; ++r) {
    partial_.bytes.push_back(memory_->bytes(r, bucket.variable, s));
  }
}

// Combines every partial label with every label of the child.
bool LabelSearch::combine(std::size_t c, double outside) {
  const auto [range, least] = children_[c];
  next_.clear();
  for (std::size_t i = 0; i < partial_.list.size(); ++i) {
    const std::int64_t* held = partial_.bytes.data() + i * rows_;
    const double priced = partial_.list[i].priced - least;
    for (std::uint32_t l = range.begin; l < range.end; ++l) {
      ++combinations_;
      const double sum = priced + labels_.list[l].priced;
      // Lists ascend by priced cost.
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

void LabelSearch::unfold(std::uint32_t b, std::uint32_t label) {
  const Buckets::Bucket& bucket = tree_->buckets()[b];
  choice_[bucket.variable] = labels_.list[label].strategy;
  const std::uint32_t parts = labels_.list[label].parts;
  const auto children = tree_->children(bucket);
  for (std::size_t i = 0; i < children.size(); ++i) {
    unfold(tree_->buckets().factors(bucket)[children[i]].source, labels_.parts[parts + i]);
  }
}

// The sum of the same costs in another order differs by less than this part.
inline constexpr double kCostRounding = 1e-11;

void keep_if_better(const CostInstance& instance, std::vector<std::uint32_t> choice,
                    ExactResult& result) {
  const CostEvaluation evaluation = evaluate(instance, choice);
  if (!evaluation.feasible() || evaluation.total() >= result.cost) return;
  result.choice = std::move(choice);
  result.cost = evaluation.total();
}

// Finds the cheapest choice below the cutoff that is within the limits of the time points with
// prices; `choice` stays empty if there is none. Searches below limits that rise in steps from the
// bound to the cutoff, the first by `step`, and raises the bound of the result with them. Returns
// false if the lists become too long.
bool search_in_steps(const CostInstance& instance, LabelSearch& labels,
                     const LabelParameters& parameters, double bound, double step, double cutoff,
                     Budget& budget, ExactResult& result, std::vector<std::uint32_t>& choice) {
  for (;;) {
    choice.clear();
    const double limit = std::min(bound + step, cutoff);
    const bool last = limit == cutoff;
    const LabelSearch::End end = labels.run(limit, budget);
    if (end == LabelSearch::End::kGivenUp) return false;
    if (end == LabelSearch::End::kFound) {
      keep_if_better(instance, labels.choice(), result);
      if (labels.cost() < limit) {
        choice = labels.choice();
        return true;
      }
      cutoff = std::min(cutoff, labels.cost() * (1 + 2 * kCostRounding));
    }
    result.lower_bound = std::max(result.lower_bound, limit);
    if (last) return true;
    step *= parameters.step_growth;
  }
}

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

}  // namespace

ExactResult search_exactly(const BucketTree& tree, const KnownSolution& known,
                           std::size_t max_labels, Budget& budget,
                           const ExactParameters& parameters) {
  const CostInstance& instance = tree.instance();
  ExactResult result;
  result.choice = known.choice;
  result.cost = std::min(known.cost, dearest(instance) * (1 + kCostRounding) + 1);
  MemoryPrices prices(tree, result, known.prices, parameters.memory_prices);
  while (!budget.interrupted()) {
    prices.raise(budget);
    result.lower_bound = std::max(result.lower_bound, std::min(prices.bound(), result.cost));
    const double cutoff = result.cost * (1 - kCostRounding);
    result.finished = prices.bound() >= cutoff;
    if (result.finished || budget.interrupted()) break;
    LabelSearch labels(tree, prices, max_labels, parameters.labels);
    std::vector<std::uint32_t> choice;
    const double step = (cutoff - prices.bound()) / parameters.labels.first_step_parts;
    const bool complete = search_in_steps(instance, labels, parameters.labels, prices.bound(), step,
                                          cutoff, budget, result, choice);
    if (!complete) break;
    if (choice.empty()) {
      result.finished = true;
      result.lower_bound = result.cost;
      break;
    }
    const CostEvaluation evaluation = evaluate(instance, choice);
    // The cheapest under some of the limits, so a bound; optimal if within all of them.
    result.lower_bound = std::max(result.lower_bound, evaluation.total() * (1 - kCostRounding));
    if (evaluation.feasible()) {
      result.choice = choice;
      result.cost = evaluation.total();
      result.lower_bound = result.cost;
      result.finished = true;
      break;
    }
    if (!prices.take_in(choice)) break;
  }
  result.prices.assign(instance.limits().size(), 0);
  for (std::size_t i = 0; i < prices.times().size(); ++i)
    result.prices[prices.times()[i]] = prices.prices()[i];
  if (!result.choice) result.cost = kForbidden;
  if (result.finished && !result.choice) result.lower_bound = known.cost;
  return result;
}

}  // namespace shardwright::operators
