#include "search/operators/strategies/merge.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/interner.h"

namespace shardwright::operators {
namespace {

// The properties by which node_classes() tells nodes apart.
// Thread safety: const members may be called from any thread.
class ClassKey {
 public:
  ClassKey(const OpGraph& graph, const OpNode& node) : graph_(graph), node_(node) {}

  std::uint64_t hash() const {
    std::uint64_t hash =
        hash_mix(static_cast<std::uint64_t>(node_.kind), static_cast<std::uint64_t>(node_.call));
    if (node_.kind == OpKind::kPlaceholder) {
      return hash_mix(hash, std::hash<std::string>{}(node_.name));
    }
    for (const std::uint32_t input : node_.inputs) {
      for (const Extents& shape : graph_[input].shapes) {
        for (const std::int64_t extent : shape)
          hash = hash_mix(hash, static_cast<std::uint64_t>(extent));
      }
    }
    return hash;
  }

  friend bool operator==(const ClassKey& a, const ClassKey& b) {
    if (a.node_.kind != b.node_.kind || a.node_.call != b.node_.call) return false;
    if (a.node_.kind == OpKind::kGetAttr) return true;
    if (a.node_.kind == OpKind::kPlaceholder) return a.node_.name == b.node_.name;
    if (a.node_.inputs.size() != b.node_.inputs.size()) return false;
    for (std::size_t k = 0; k < a.node_.inputs.size(); ++k) {
      const OpNode& input = a.graph_[a.node_.inputs[k]];
      const OpNode& other = b.graph_[b.node_.inputs[k]];
      if (input.tuple != other.tuple || input.shapes != other.shapes) return false;
    }
    return a.node_.call == OpCall::kModule || a.node_.attrs == b.node_.attrs;
  }

 private:
  const OpGraph& graph_;
  const OpNode& node_;
};

// Thread safety: one thread at a time.
class BlockSearch {
 public:
  BlockSearch(std::span<const std::uint32_t> classes, std::size_t min_length)
      : classes_(classes), length_(min_length) {
    for (std::uint32_t n = 0; n < classes.size(); ++n) {
      if (classes[n] >= members_.size()) members_.resize(classes[n] + 1);
      members_[classes[n]].push_back(n);
    }
  }

  RepeatedBlocks run() {
    constexpr std::size_t kNever = ~std::size_t{0};
    // By class: the length from which its blocks differ, and the length at which they cannot grow.
    std::vector<std::size_t> differs_from(members_.size(), kNever);
    std::vector<std::size_t> settled_at(members_.size(), kNever);
    RepeatedBlocks found;
    for (const std::uint32_t cls : classes_) {
      const std::vector<std::uint32_t>& starts = members_[cls];
      if (starts.size() < 2 || length_ >= differs_from[cls]) continue;
      if (length_ == settled_at[cls]) {
        found.first = starts;
        continue;
      }
      if (!equal(starts)) {
        differs_from[cls] = length_;
        continue;
      }
      found.first = starts;
      extend(starts);
      settled_at[cls] = length_;
    }
    if (found.first.empty() || length_ == 0) return {};
    found.length = length_;
    return found;
  }

 private:
  bool equal_at(const std::vector<std::uint32_t>& starts, std::size_t offset) const {
    return std::all_of(starts.begin(), starts.end(), [&](std::uint32_t start) {
      return classes_[start + offset] == classes_[starts.back() + offset];
    });
  }

  // The first nodes of all blocks have the same class, so the comparison begins at the second
  // nodes. All blocks must end within the graph.
  bool equal(const std::vector<std::uint32_t>& starts) const {
    if (starts.back() + length_ > classes_.size()) return false;
    for (std::size_t offset = 1; offset < length_; ++offset) {
      if (!equal_at(starts, offset)) return false;
    }
    return true;
  }

  // Extends the blocks while they stay equal. Blocks that end with the last node of the graph
  // become one node shorter.
  void extend(const std::vector<std::uint32_t>& starts) {
    const std::size_t room = classes_.size() - starts.back() - length_;
    if (room == 0) {
      --length_;
      return;
    }
    const std::size_t longest = length_ + room - 1;
    while (length_ < longest && equal_at(starts, length_))
      ++length_;
  }

  std::span<const std::uint32_t> classes_;
  std::size_t length_;
  std::vector<std::vector<std::uint32_t>> members_;  // by class, ascending
};

}  // namespace

std::vector<std::uint32_t> node_classes(const OpGraph& graph) {
  std::unordered_multimap<std::uint64_t, std::uint32_t> first_by_hash;
  std::vector<std::uint32_t> classes;
  classes.reserve(graph.size());
  std::uint32_t next = 0;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const ClassKey key(graph, graph[n]);
    const std::uint64_t hash = key.hash();
    const auto [begin, end] = first_by_hash.equal_range(hash);
    const auto same = std::find_if(
        begin, end, [&](const auto& entry) { return key == ClassKey(graph, graph[entry.second]); });
    if (same != end) {
      classes.push_back(classes[same->second]);
      continue;
    }
    first_by_hash.emplace(hash, n);
    classes.push_back(next++);
  }
  return classes;
}

RepeatedBlocks find_repeated_blocks(std::span<const std::uint32_t> classes,
                                    std::size_t min_length) {
  return BlockSearch(classes, min_length).run();
}

std::vector<NodeAlias> block_aliases(const RepeatedBlocks& blocks) {
  std::map<std::uint32_t, std::uint32_t> aliases;
  for (std::uint32_t k = 0; k < blocks.length; ++k) {
    for (std::size_t block = 1; block < blocks.first.size(); ++block)
      aliases[blocks.first[block] + k] = blocks.first[0] + k;
  }
  std::vector<NodeAlias> list;
  list.reserve(aliases.size());
  for (const auto& [node, of] : aliases)
    list.push_back({node, of});
  return list;
}

namespace {

std::uint64_t hash_of(const CostMatrix& matrix) {
  std::uint64_t hash = hash_mix(matrix.rows, matrix.columns);
  for (const double entry : matrix.entries)
    hash = hash_mix(hash, std::bit_cast<std::uint64_t>(entry));
  return hash;
}

// By strategy of the parent: the cheapest strategy of the child; of equally cheap ones, the last.
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

// The edges in order of creation. Edges can be removed. Thread safety: one thread at a time.
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

  // Merges the second node of `edge` into the first. The constructor was given this edge.
  void merge(const CostEdge& edge) {
    const std::uint32_t into = edge.first;
    const std::uint32_t node = edge.second;
    const std::vector<std::uint32_t> implied = cheapest_columns(pool_[edge.matrix]);
    charge(edge, implied);
    drop(into, node);
    const bool gone = num_parents_[node] == 0;
    const std::vector<std::uint32_t> outgoing = children_[node];  // indices of edges
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
    // If a leader follows another node itself, its followers take that node as leader. Leaders come
    // before their followers.
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
  std::vector<std::vector<std::uint32_t>> children_;  // by node: indices of its outgoing edges
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
