#include "search/operators/build/repeated_blocks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "core/interner.h"

namespace shardwright::operators {
namespace {

// Everything in which nodes of different classes can differ.
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
    // By class: the length at which its blocks differ or can no longer be extended.
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

  // The nodes of a class are equal themselves; blocks may end with the graph, not beyond.
  bool equal(const std::vector<std::uint32_t>& starts) const {
    if (starts.back() + length_ > classes_.size()) return false;
    for (std::size_t offset = 1; offset < length_; ++offset) {
      if (!equal_at(starts, offset)) return false;
    }
    return true;
  }

  // Blocks that end with the last node of the graph become one node shorter.
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

}  // namespace shardwright::operators
