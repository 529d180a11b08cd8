#include "search/operators/elimination/bucket_tree.h"

#include <algorithm>
#include <cmath>

namespace shardwright::operators {

void Buckets::build(const EliminationOrder& order, std::span<const std::uint32_t> sizes,
                    std::span<const Pair> pairs) {
  add_buckets(order, sizes);
  add_factors(order, pairs);
}

void Buckets::add_buckets(const EliminationOrder& order, std::span<const std::uint32_t> sizes) {
  const auto variables = order.order();
  buckets_.assign(variables.size(), Bucket{});
  scopes_.clear();
  scope_sizes_.clear();
  num_entries_ = 0;
  for (std::size_t b = 0; b < variables.size(); ++b) {
    Bucket& bucket = buckets_[b];
    const auto scope = order.scope(b);
    bucket.variable = variables[b];
    bucket.own_size = sizes[bucket.variable];
    bucket.depth = static_cast<std::uint32_t>(scope.size());
    bucket.first_scope = scopes_.size();
    bucket.first_message = num_entries_;
    for (const std::uint32_t variable : scope) {
      scopes_.push_back(variable);
      scope_sizes_.push_back(sizes[variable]);
      bucket.entries *= sizes[variable];
    }
    num_entries_ += bucket.entries;
    if (scope.empty()) continue;
    bucket.parent = order.position(scope.back());
    ++buckets_[bucket.parent].num_children;
  }
}

// Gives each table to the bucket of that variable of the table that is eliminated first.
void Buckets::add_factors(const EliminationOrder& order, std::span<const Pair> pairs) {
  const auto bucket_of = [&](const Pair& pair) {
    return std::min(order.position(pair.first), order.position(pair.second));
  };
  for (Bucket& bucket : buckets_)
    bucket.num_factors = bucket.num_children;
  for (const Pair& pair : pairs)
    ++buckets_[bucket_of(pair)].num_factors;
  std::size_t num_factors = 0;
  std::size_t num_strides = 0;
  for (Bucket& bucket : buckets_) {
    bucket.first_factor = num_factors;
    bucket.first_stride = num_strides;
    num_factors += bucket.num_factors;
    num_strides += std::size_t{bucket.num_factors} * bucket.depth;
    bucket.num_factors = 0;
  }
  factors_.resize(num_factors);
  levels_.resize(num_factors);
  strides_.assign(num_strides, 0);
  for (std::uint32_t p = 0; p < pairs.size(); ++p) {
    const std::uint32_t b = bucket_of(pairs[p]);
    const bool first = buckets_[b].variable == pairs[p].first;
    place(buckets_[b], {p, false},
          pair_level(buckets_[b], first ? pairs[p].second : pairs[p].first));
  }
  for (std::uint32_t child = 0; child < buckets_.size(); ++child) {
    if (buckets_[child].parent == kNone) continue;
    Bucket& parent = buckets_[buckets_[child].parent];
    place(parent, {child, true}, message_level(parent, buckets_[child]));
  }
  for (const Bucket& bucket : buckets_)
    set_strides(bucket);
}

// Inserts a factor; keeps factors sorted by level, and in order of insertion within a level.
void Buckets::place(Bucket& bucket, Factor factor, std::uint32_t level) {
  std::size_t at = bucket.first_factor + bucket.num_factors++;
  for (; at > bucket.first_factor && levels_[at - 1] > level; --at) {
    factors_[at] = factors_[at - 1];
    levels_[at] = levels_[at - 1];
  }
  factors_[at] = factor;
  levels_[at] = level;
}

std::uint32_t Buckets::pair_level(const Bucket& bucket, std::uint32_t other) const {
  const auto scope = separator(bucket);
  return static_cast<std::uint32_t>(std::find(scope.begin(), scope.end(), other) - scope.begin()) +
         1;
}

// The last variable of the child's separator is the variable of `bucket` itself, so the variable
// before it determines the level.
std::uint32_t Buckets::message_level(const Bucket& bucket, const Bucket& child) const {
  return child.depth < 2 ? 0 : pair_level(bucket, separator(child)[child.depth - 2]);
}

void Buckets::set_strides(const Bucket& bucket) {
  const std::size_t count = bucket.num_factors;
  std::size_t* strides = strides_.data() + bucket.first_stride;
  const auto scope = separator(bucket);
  for (std::size_t f = 0; f < count; ++f) {
    const Factor factor = factors_[bucket.first_factor + f];
    if (!factor.is_message) {
      strides[(levels_[bucket.first_factor + f] - 1) * count + f] = bucket.own_size;
      continue;
    }
    const Bucket& child = buckets_[factor.source];
    std::size_t stride = bucket.own_size;
    std::size_t at = levels_[bucket.first_factor + f];
    for (std::size_t i = child.depth - std::size_t{1}; i-- > 0;) {
      const std::uint32_t variable = scopes_[child.first_scope + i];
      while (scope[at - 1] != variable)
        --at;
      strides[(at - 1) * count + f] = stride;
      stride *= scope_sizes_[child.first_scope + i];
    }
  }
}

namespace {

// The score of a node: the logarithm of the entries of its table, plus a penalty for the edges that
// its elimination adds, since these edges make later tables larger.
class TableScore {
 public:
  TableScore(const CostInstance& instance, const InteractionGraph& graph, double fill_weight,
             const Budget& budget)
      : graph_(&graph), fill_weight_(fill_weight), stopped_(budget) {
    for (std::size_t node = 0; node < instance.num_nodes(); ++node)
      weights_.push_back(std::log(static_cast<double>(instance.num_strategies(node))));
  }

  double operator()(std::uint32_t node) {
    if (stopped_(work_)) return 0;  // the caller gives up this order
    const auto& around = graph_->neighbours(node);
    work_ += around.size() * around.size() / 2 + 1;
    double fill = 0;
    for (std::size_t i = 0; i < around.size(); ++i) {
      for (std::size_t j = i + 1; j < around.size(); ++j) {
        if (!graph_->adjacent(around[i], around[j]))
          fill += weights_[around[i]] * weights_[around[j]];
      }
    }
    return log_entries(node) + fill_weight_ * fill;
  }

  double log_entries(std::uint32_t node) const {
    double entries = weights_[node];
    for (const std::uint32_t neighbour : graph_->neighbours(node))
      entries += weights_[neighbour];
    return entries;
  }

  bool stopped() { return stopped_(work_); }
  // The number of pairs of neighbours looked at.
  std::size_t work() const { return work_; }

 private:
  const InteractionGraph* graph_;
  double fill_weight_;
  std::vector<double> weights_;
  std::size_t work_ = 0;
  StopCheck stopped_;
};

// Returns false if the tables would be too large, or if finding an order takes too much work.
bool choose_order(const CostInstance& instance, double max_entries,
                  const TableOrderParameters& parameters, const Budget& budget,
                  EliminationOrder& order) {
  const std::size_t max_work =
      parameters.most_work + parameters.work_per_node * instance.num_nodes();
  order.graph().reset(instance.num_nodes());
  for (const CostInstance::Edge& edge : instance.edges()) {
    order.graph().add_neighbour(edge.first, edge.second);
    order.graph().add_neighbour(edge.second, edge.first);
  }
  order.graph().sort();
  TableScore score(instance, order.graph(), parameters.fill_weight, budget);
  double total = 0;
  return order.choose(
      EliminationOrder::ScoreReach::kNeighboursOfThese,
      [&](std::uint32_t node) { return score(node); },
      [&](std::uint32_t node, const ScoreQueue&) -> EliminationOrder::Decision {
        total += std::exp(score.log_entries(node));
        if (total > max_entries || score.work() > max_work || score.stopped())
          return {EliminationOrder::Step::kStop};
        return {};
      });
}

}  // namespace

std::optional<BucketTree> BucketTree::make(const CostInstance& instance, double max_entries,
                                           const TableOrderParameters& parameters,
                                           const Budget& budget) {
  EliminationOrder order;
  if (!choose_order(instance, max_entries, parameters, budget, order)) return std::nullopt;
  BucketTree tree;
  tree.instance_ = &instance;
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t node = 0; node < instance.num_nodes(); ++node) {
    sizes.push_back(instance.num_strategies(node));
    tree.first_cost_.push_back(tree.num_costs_);
    tree.num_costs_ += sizes.back();
  }
  std::vector<Buckets::Pair> pairs;
  for (const CostInstance::Edge& edge : instance.edges())
    pairs.push_back({edge.first, edge.second});
  tree.buckets_.build(order, sizes, pairs);
  tree.lay_out_edges(order);
  tree.list_children();
  return tree;
}

void BucketTree::lay_out_edges(const EliminationOrder& order) {
  std::size_t entries = 0;
  for (const CostInstance::Edge& edge : instance_->edges()) {
    first_edge_cost_.push_back(entries);
    entries += instance_->matrix(edge).size();
  }
  edge_costs_.reserve(entries);
  for (const CostInstance::Edge& edge : instance_->edges()) {
    const std::uint32_t rows = instance_->num_strategies(edge.first);
    const std::uint32_t columns = instance_->num_strategies(edge.second);
    const auto matrix = instance_->matrix(edge);
    if (order.position(edge.second) < order.position(edge.first)) {
      edge_costs_.insert(edge_costs_.end(), matrix.begin(), matrix.end());
      continue;
    }
    for (std::uint32_t column = 0; column < columns; ++column) {
      for (std::uint32_t row = 0; row < rows; ++row)
        edge_costs_.push_back(matrix[std::size_t{row} * columns + column]);
    }
  }
}

void BucketTree::list_children() {
  for (const Buckets::Bucket& bucket : buckets_.list()) {
    const auto factors = buckets_.factors(bucket);
    const std::size_t begin = children_.size();
    for (std::uint32_t f = 0; f < factors.size(); ++f) {
      if (factors[f].is_message) children_.push_back(f);
    }
    std::sort(
        children_.begin() + static_cast<std::ptrdiff_t>(begin), children_.end(),
        [&](std::uint32_t a, std::uint32_t b) { return factors[a].source < factors[b].source; });
    children_.resize(begin + factors.size());
  }
}

BucketTables::BucketTables(const BucketTree& tree)
    : tree_(&tree), messages_(tree.buckets().num_entries()) {}

void BucketTables::start(const Buckets::Bucket& bucket) {
  const auto factors = tree_->buckets().factors(bucket);
  sum_.start(tree_->buckets().shape(bucket), costs_.data() + tree_->first_cost(bucket.variable),
             [&](std::size_t f) { return table(factors[f]); });
}

double BucketTables::minimize(std::span<const double> costs, std::vector<std::uint32_t>& choice) {
  costs_ = costs;
  roots_ = 0;
  for (const Buckets::Bucket& bucket : tree_->buckets().list()) {
    double* message = messages_.data() + bucket.first_message;
    start(bucket);
    sum_.send(message);
    if (bucket.parent == Buckets::kNone) roots_ += message[0];
  }
  decode(choice);
  return roots_;
}

void BucketTables::decode(std::vector<std::uint32_t>& choice) {
  const Buckets& buckets = tree_->buckets();
  choice.assign(buckets.size(), 0);
  for (std::size_t b = buckets.size(); b-- > 0;) {
    const auto separator = buckets.separator(buckets[b]);
    start(buckets[b]);
    sum_.seek([&](std::size_t i) { return choice[separator[i]]; });
    const auto sums = sum_.sums();
    choice[buckets[b].variable] =
        static_cast<std::uint32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
  }
}

void BucketTables::compute_outside() {
  const Buckets& buckets = tree_->buckets();
  outside_.assign(messages_.size(), kForbidden);
  for (const Buckets::Bucket& bucket : buckets.list()) {
    if (bucket.parent == Buckets::kNone)
      outside_[bucket.first_message] = roots_ - messages_[bucket.first_message];
  }
  for (auto b = static_cast<std::uint32_t>(buckets.size()); b-- > 0;) {
    for_each_entry(
        b, [&](std::size_t entry) { return message(b, entry) + outside(b, entry) < kForbidden; },
        [&](std::size_t entry, std::span<const double> sums) {
          pass_outside(buckets[b], outside(b, entry), sums);
        });
  }
}

// Passes outside costs to the bucket's children, at the current assignment of its separator.
void BucketTables::pass_outside(const Buckets::Bucket& bucket, double outside,
                                std::span<const double> sums) {
  for (const std::uint32_t f : tree_->children(bucket)) {
    const double* messages = sum_.row(f);
    double* least = outside_.data() + (messages - messages_.data());
    for (std::size_t s = 0; s < sums.size(); ++s) {
      const double all = sums[s] + outside;
      if (all < kForbidden) least[s] = std::min(least[s], all - messages[s]);
    }
  }
}

}  // namespace shardwright::operators
