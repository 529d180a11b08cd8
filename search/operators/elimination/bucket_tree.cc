#include "search/operators/elimination/bucket_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace shardwright::operators {
namespace {

// What fits in tables is ordered with far less; what takes more is too wide in all likelihood.
constexpr std::size_t kMaxOrderingWork = 20'000'000;
constexpr std::size_t kOrderingWorkPerNode = 200;

// The graph while nodes are eliminated from it.
class EliminationGraph {
 public:
  explicit EliminationGraph(const CostInstance& instance) : neighbours_(instance.num_nodes()) {
    for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
      weights_.push_back(std::log(static_cast<double>(instance.num_strategies(node))));
    }
    for (const CostInstance::Edge& edge : instance.edges())
      join(edge.first, edge.second);
  }

  const std::vector<std::uint32_t>& neighbours(std::uint32_t node) const {
    return neighbours_[node];
  }

  // Table entries that eliminating the node takes, as a logarithm, plus what new edges are likely
  // to cost later.
  double price(std::uint32_t node) {
    constexpr double kFillWeight = 0.3;
    const auto& around = neighbours_[node];
    work_ += around.size() * around.size() / 2 + 1;
    double entries = weight(node);
    double fill = 0;
    for (std::size_t i = 0; i < around.size(); ++i) {
      entries += weight(around[i]);
      for (std::size_t j = i + 1; j < around.size(); ++j) {
        if (!joined(around[i], around[j])) fill += weight(around[i]) * weight(around[j]);
      }
    }
    return entries + kFillWeight * fill;
  }

  void eliminate(std::uint32_t node) {
    const std::vector<std::uint32_t> around = neighbours_[node];
    for (const std::uint32_t neighbour : around) {
      auto& list = neighbours_[neighbour];
      list.erase(std::lower_bound(list.begin(), list.end(), node));
    }
    for (std::size_t i = 0; i < around.size(); ++i) {
      for (std::size_t j = i + 1; j < around.size(); ++j)
        join(around[i], around[j]);
    }
  }

  double weight(std::uint32_t node) const { return weights_[node]; }
  // Pairs of neighbours looked at.
  std::size_t work() const { return work_; }

 private:
  bool joined(std::uint32_t a, std::uint32_t b) const {
    return std::binary_search(neighbours_[a].begin(), neighbours_[a].end(), b);
  }
  void join(std::uint32_t a, std::uint32_t b) {
    if (joined(a, b)) return;
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      auto& list = neighbours_[from];
      list.insert(std::lower_bound(list.begin(), list.end(), to), to);
    }
  }

  std::vector<double> weights_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::size_t work_ = 0;
};

}  // namespace

std::optional<BucketTree> BucketTree::make(const CostInstance& instance, double max_entries) {
  const auto nodes = static_cast<std::uint32_t>(instance.num_nodes());
  EliminationGraph graph(instance);
  BucketTree tree;
  tree.instance_ = &instance;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    tree.first_cost_.push_back(tree.num_costs_);
    tree.num_costs_ += instance.num_strategies(node);
  }
  std::vector<double> prices;
  std::set<std::pair<double, std::uint32_t>> left;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    prices.push_back(graph.price(node));
    left.emplace(prices[node], node);
  }
  const auto reprice = [&](std::uint32_t node) {
    left.erase({prices[node], node});
    prices[node] = graph.price(node);
    left.emplace(prices[node], node);
  };
  std::vector<std::uint32_t> turn(nodes, kRoot);  // when a node is eliminated
  double total = 0;
  for (std::uint32_t step = 0; step < nodes; ++step) {
    const std::uint32_t best = left.begin()->second;
    left.erase(left.begin());
    Bucket bucket;
    bucket.node = best;
    bucket.separator = graph.neighbours(best);
    double entries = graph.weight(best);
    for (const std::uint32_t node : bucket.separator)
      entries += graph.weight(node);
    total += std::exp(entries);
    if (total > max_entries) return std::nullopt;
    graph.eliminate(best);
    for (const std::uint32_t node : bucket.separator) {
      reprice(node);
      for (const std::uint32_t next : graph.neighbours(node))
        reprice(next);
    }
    if (graph.work() > kMaxOrderingWork + kOrderingWorkPerNode * nodes) return std::nullopt;
    turn[best] = step;
    tree.buckets_.push_back(std::move(bucket));
  }

  for (Bucket& bucket : tree.buckets_) {
    std::sort(bucket.separator.begin(), bucket.separator.end(),
              [&](std::uint32_t a, std::uint32_t b) { return turn[a] > turn[b]; });
    for (const std::uint32_t node : bucket.separator) {
      bucket.sizes.push_back(instance.num_strategies(node));
      bucket.entries *= bucket.sizes.back();
    }
    if (!bucket.separator.empty()) bucket.parent = turn[bucket.separator.back()];
  }
  for (const CostInstance::Edge& edge : instance.edges()) {
    const bool first = turn[edge.first] < turn[edge.second];
    Bucket& bucket = tree.buckets_[turn[first ? edge.first : edge.second]];
    const std::uint32_t other = first ? edge.second : edge.first;
    const std::uint32_t own_size = instance.num_strategies(bucket.node);
    Factor factor;
    for (std::uint32_t k = 0; k < instance.num_strategies(other); ++k) {
      for (std::uint32_t s = 0; s < own_size; ++s) {
        factor.edge_costs.push_back(first ? instance.edge_cost(edge, s, k)
                                          : instance.edge_cost(edge, k, s));
      }
    }
    for (const std::uint32_t node : bucket.separator) {
      factor.strides.push_back(node == other ? own_size : 0);
    }
    bucket.factors.push_back(std::move(factor));
  }
  for (std::uint32_t child = 0; child < nodes; ++child) {
    const Bucket& from = tree.buckets_[child];
    if (from.parent == kRoot) continue;
    Bucket& to = tree.buckets_[from.parent];
    Factor factor;
    factor.child = child;
    for (const std::uint32_t node : to.separator) {
      std::size_t stride = 1;
      std::size_t found = 0;
      for (std::size_t i = from.separator.size(); i-- > 0; stride *= from.sizes[i]) {
        if (from.separator[i] == node) found = stride;
      }
      factor.strides.push_back(found);
    }
    to.factors.push_back(std::move(factor));
    ++to.num_children;
  }
  return tree;
}

BucketTables::BucketTables(const BucketTree& tree)
    : tree_(&tree), messages_(tree.buckets().size()), outside_(tree.buckets().size()) {
  for (std::size_t i = 0; i < messages_.size(); ++i)
    messages_[i].resize(tree.buckets()[i].entries);
}

void BucketTables::start(const BucketTree::Bucket& bucket) {
  values_.assign(bucket.separator.size(), 0);
  offsets_.assign(bucket.factors.size(), 0);
  sums_.resize(tree_->instance().num_strategies(bucket.node));
  tables_.clear();
  for (const BucketTree::Factor& factor : bucket.factors)
    tables_.push_back(table(factor));
  strides_.clear();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    for (const BucketTree::Factor& factor : bucket.factors)
      strides_.push_back(factor.strides[i]);
  }
}

// Tables are short and many: those of one and two factors are worth loops of their own.
void BucketTables::sum_up(const BucketTree::Bucket& bucket) {
  const double* costs = costs_.data() + tree_->first_cost(bucket.node);
  double* sums = sums_.data();
  const std::size_t size = sums_.size();
  const std::size_t count = tables_.size();
  if (count == 0) {
    std::copy(costs, costs + size, sums);
    return;
  }
  const double* first = tables_[0] + offsets_[0];
  if (count == 1) {
    for (std::size_t s = 0; s < size; ++s)
      sums[s] = costs[s] + first[s];
    return;
  }
  const double* second = tables_[1] + offsets_[1];
  for (std::size_t s = 0; s < size; ++s)
    sums[s] = costs[s] + first[s] + second[s];
  for (std::size_t f = 2; f < count; ++f) {
    const double* entries = tables_[f] + offsets_[f];
    for (std::size_t s = 0; s < size; ++s)
      sums[s] += entries[s];
  }
}

// Four minima side by side do not wait for each other.
double BucketTables::least_sum() const {
  std::array<double, 4> least;
  least.fill(sums_[0]);
  const double* sums = sums_.data();
  const std::size_t size = sums_.size();
  std::size_t s = 0;
  for (; s + 4 <= size; s += 4) {
    for (std::size_t k = 0; k < 4; ++k)
      least[k] = std::min(least[k], sums[s + k]);
  }
  for (; s < size; ++s)
    least[0] = std::min(least[0], sums[s]);
  return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

// The last variable runs fastest.
void BucketTables::advance(const BucketTree::Bucket& bucket) {
  const std::size_t count = offsets_.size();
  std::size_t* offsets = offsets_.data();
  for (std::size_t i = values_.size(); i-- > 0;) {
    const std::size_t* strides = strides_.data() + i * count;
    for (std::size_t f = 0; f < count; ++f)
      offsets[f] += strides[f];
    if (++values_[i] < bucket.sizes[i]) return;
    for (std::size_t f = 0; f < count; ++f)
      offsets[f] -= strides[f] * bucket.sizes[i];
    values_[i] = 0;
  }
}

double BucketTables::minimize(std::span<const double> costs, std::vector<std::uint32_t>& choice) {
  costs_ = costs;
  roots_ = 0;
  for (std::uint32_t b = 0; b < messages_.size(); ++b) {
    for_each_entry(
        b, [](std::size_t) { return true; },
        [&](std::size_t entry, const std::vector<double>&) { messages_[b][entry] = least_sum(); });
    if (tree_->buckets()[b].parent == BucketTree::kRoot) roots_ += messages_[b][0];
  }
  decode(choice);
  return roots_;
}

void BucketTables::decode(std::vector<std::uint32_t>& choice) {
  choice.assign(messages_.size(), 0);
  for (std::size_t b = messages_.size(); b-- > 0;) {
    const BucketTree::Bucket& bucket = tree_->buckets()[b];
    start(bucket);
    for (std::size_t i = 0; i < bucket.separator.size(); ++i) {
      for (std::size_t f = 0; f < offsets_.size(); ++f) {
        offsets_[f] += bucket.factors[f].strides[i] * choice[bucket.separator[i]];
      }
    }
    sum_up(bucket);
    choice[bucket.node] =
        static_cast<std::uint32_t>(std::min_element(sums_.begin(), sums_.end()) - sums_.begin());
  }
}

void BucketTables::compute_outside() {
  for (std::size_t b = 0; b < outside_.size(); ++b) {
    const BucketTree::Bucket& bucket = tree_->buckets()[b];
    outside_[b].assign(bucket.entries, kForbidden);
    if (bucket.parent == BucketTree::kRoot) outside_[b][0] = roots_ - messages_[b][0];
  }
  for (auto b = static_cast<std::uint32_t>(outside_.size()); b-- > 0;) {
    const BucketTree::Bucket& bucket = tree_->buckets()[b];
    for_each_entry(
        b, [&](std::size_t entry) { return messages_[b][entry] + outside_[b][entry] < kForbidden; },
        [&](std::size_t entry, const std::vector<double>& sums) {
          for (std::size_t f = 0; f < bucket.factors.size(); ++f) {
            const std::uint32_t child = bucket.factors[f].child;
            if (child == BucketTree::kRoot) continue;
            for (std::size_t s = 0; s < sums.size(); ++s) {
              const std::size_t at = offsets_[f] + s;
              const double all = sums[s] + outside_[b][entry];
              if (!(all < kForbidden)) continue;
              outside_[child][at] = std::min(outside_[child][at], all - messages_[child][at]);
            }
          }
        });
  }
}

}  // namespace shardwright::operators
