#include "search/operators/build/merge.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/check.h"
#include "core/interner.h"

namespace shardwright::operators {
namespace {

std::uint64_t hash_of(const CostMatrix& matrix) {
  std::uint64_t hash = hash_mix(matrix.rows, matrix.columns);
  for (const double entry : matrix.entries)
    hash = hash_mix(hash, std::bit_cast<std::uint64_t>(entry));
  return hash;
}

// By strategy of the parent: the last of the cheapest strategies of the child.
std::vector<std::uint32_t> cheapest_columns(const CostMatrix& matrix) {
  std::vector<std::uint32_t> cheapest(matrix.rows, 0);
  for (std::uint32_t i = 0; i < matrix.rows; ++i) {
    const double* row = matrix.entries.data() + std::size_t{i} * matrix.columns;
    for (std::uint32_t j = 1; j < matrix.columns; ++j) {
      if (row[j] <= row[cheapest[i]]) cheapest[i] = j;
    }
  }
  return cheapest;
}

CostMatrix select_rows(const CostMatrix& matrix, std::span<const std::uint32_t> rows) {
  CostMatrix selected{static_cast<std::uint32_t>(rows.size()), matrix.columns, {}};
  selected.entries.reserve(rows.size() * matrix.columns);
  for (const std::uint32_t row : rows) {
    const auto begin =
        matrix.entries.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * matrix.columns);
    selected.entries.insert(selected.entries.end(), begin, begin + matrix.columns);
  }
  return selected;
}

// Edges in order of creation, which can be removed.
// Thread safety: one thread at a time.
class Merger {
 public:
  Merger(std::span<const std::uint32_t> num_strategies, std::span<const CostEdge> edges,
         MatrixPool& pool)
      : num_strategies_(num_strategies),
        pool_(pool),
        children_(num_strategies.size()),
        num_parents_(num_strategies.size(), 0) {
    merged_.follows.assign(num_strategies.size(), MergedGraph::kNone);
    merged_.extra.resize(num_strategies.size());
    for (const CostEdge& edge : edges)
      add(edge);
  }

  // `edge` is one of the edges given at first.
  void merge(const CostEdge& edge) {
    const std::uint32_t into = edge.first;
    const std::uint32_t node = edge.second;
    const std::vector<std::uint32_t> implied = cheapest_columns(pool_[edge.matrix]);
    charge(edge, implied);
    drop(into, node);
    const bool gone = num_parents_[node] == 0;
    const std::vector<std::uint32_t> outgoing = children_[node];  // positions of edges
    for (const std::uint32_t position : outgoing) {
      const CostEdge old = edges_[position];
      if (!find(into, old.second)) {
        add({into, old.second, pool_.intern(select_rows(pool_[old.matrix], implied))});
      }
      if (gone) drop(node, old.second);
    }
    if (gone) merged_.follows[node] = into;
  }

  MergedGraph finish() && {
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (alive_[e]) merged_.edges.push_back(edges_[e]);
    }
    // Leaders come before their followers.
    for (std::uint32_t& leader : merged_.follows) {
      if (leader != MergedGraph::kNone && merged_.follows[leader] != MergedGraph::kNone) {
        leader = merged_.follows[leader];
      }
    }
    return std::move(merged_);
  }

 private:
  std::vector<std::uint32_t>::iterator position_of(std::uint32_t from, std::uint32_t to) {
    return std::find_if(children_[from].begin(), children_[from].end(),
                        [&](std::uint32_t position) { return edges_[position].second == to; });
  }
  bool find(std::uint32_t from, std::uint32_t to) {
    return position_of(from, to) != children_[from].end();
  }
  void add(const CostEdge& edge) {
    SHARDWRIGHT_CHECK(edge.first < edge.second);
    children_[edge.first].push_back(static_cast<std::uint32_t>(edges_.size()));
    ++num_parents_[edge.second];
    edges_.push_back(edge);
    alive_.push_back(true);
  }
  void drop(std::uint32_t from, std::uint32_t to) {
    const auto position = position_of(from, to);
    SHARDWRIGHT_CHECK(position != children_[from].end());
    alive_[*position] = false;
    children_[from].erase(position);
    --num_parents_[to];
  }

  void charge(const CostEdge& edge, std::span<const std::uint32_t> implied) {
    const CostMatrix& matrix = pool_[edge.matrix];
    const std::vector<double>& further = merged_.extra[edge.second];
    std::vector<double> extra(num_strategies_[edge.first]);
    for (std::size_t i = 0; i < extra.size(); ++i) {
      extra[i] = matrix.entries[i * matrix.columns + implied[i]];
      if (!further.empty()) extra[i] += further[implied[i]];
    }
    merged_.extra[edge.first] = std::move(extra);
  }

  std::span<const std::uint32_t> num_strategies_;
  MatrixPool& pool_;
  std::vector<CostEdge> edges_;
  std::vector<bool> alive_;
  std::vector<std::vector<std::uint32_t>> children_;  // by node: positions of its outgoing edges
  std::vector<std::uint32_t> num_parents_;
  MergedGraph merged_;
};

}  // namespace

std::uint32_t MatrixPool::intern(CostMatrix matrix) {
  const std::uint64_t hash = hash_of(matrix);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const CostMatrix& other = matrices_[known->second];
    if (other.rows == matrix.rows && other.entries == matrix.entries) return known->second;
  }
  const auto number = static_cast<std::uint32_t>(matrices_.size());
  matrices_.push_back(std::move(matrix));
  by_hash_.emplace(hash, number);
  return number;
}

bool mergeable(OpKind kind) {
  switch (kind) {
    case OpKind::kRelu:
    case OpKind::kAbs:
    case OpKind::kDropout:
    case OpKind::kFlatten:
    case OpKind::kDefaultReshape:
    case OpKind::kUnsqueeze:
    case OpKind::kView:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kPermute:
    case OpKind::kSplit:
    case OpKind::kGetitem:
    case OpKind::kSoftmax:
    case OpKind::kTo:
    case OpKind::kType:
    case OpKind::kContiguous:
      return true;
    default:
      return false;
  }
}

bool mergeable(const OpNode& node) {
  const OpKind kind = node.kind;
  if (node.call == OpCall::kModule && kind != OpKind::kRelu && kind != OpKind::kDropout)
    return false;
  return mergeable(kind) && !(node.call == OpCall::kMethod && kind == OpKind::kReshape);
}

MergedGraph merge_nodes(std::span<const std::uint32_t> num_strategies,
                        const std::vector<bool>& may_merge, std::span<const CostEdge> edges,
                        MatrixPool& pool) {
  Merger merger(num_strategies, edges, pool);
  for (std::size_t e = edges.size(); e-- > 0;) {
    if (may_merge[edges[e].second]) merger.merge(edges[e]);
  }
  return std::move(merger).finish();
}

}  // namespace shardwright::operators
