#include "search/program/tensor/mesh_chain.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "core/interner.h"

namespace shardwright::program {
namespace {

using Kind = MeshStep::Kind;

// A placement as one number, a byte per axis: the dimension that it splits and its index among the
// axes that do, or the reduction that is due on it.
std::uint64_t code_of(const MeshPlacement& placement) {
  std::array<std::uint8_t, kMaxMeshAxes> codes{};
  for (std::size_t axis = 0; axis < codes.size(); ++axis) {
    codes[axis] = static_cast<std::uint8_t>(placement.due[axis]);
  }
  for (std::size_t dim = 0; dim < placement.dims.size(); ++dim) {
    for (std::size_t i = 0; i < placement.dims[dim].size(); ++i) {
      codes[placement.dims[dim][i]] = static_cast<std::uint8_t>((dim + 1) << 4 | i);
    }
  }
  std::uint64_t code = 0;
  for (const std::uint8_t byte : codes)
    code = code << 8 | byte;
  return code;
}

struct CodeHash {
  std::size_t operator()(std::uint64_t code) const {
    return static_cast<std::size_t>(hash_mix(code, 0));
  }
};

// One placement that the search has met.
struct Node {
  MeshPlacement placement;
  double us = 0;
  std::uint32_t parent = 0;
  MeshStep step;
  bool settled = false;
};

class Search {
 public:
  // With `detours`, dimensions may also be split in ways that the target does not have.
  Search(const MeshCosts& costs, const MeshPlacement& source, const MeshPlacement* target,
         bool detours)
      : costs_(costs), target_(target), detours_(detours) {
    if (target_ != nullptr) goal_ = code_of(*target_);
    meet(source, 0, 0, MeshStep());
  }

  std::optional<MeshChain> run() {
    std::size_t settled = 0;
    while (!queue_.empty()) {
      const std::uint32_t index = std::get<1>(queue_.top());
      queue_.pop();
      if (nodes_[index].settled) continue;
      nodes_[index].settled = true;
      if (reached(nodes_[index])) return chain_to(index);
      if (++settled > kMaxPlacements) return std::nullopt;
      expand(index);
    }
    return std::nullopt;
  }

 private:
  bool reached(const Node& node) const {
    if (target_ != nullptr) return code_of(node.placement) == goal_;
    return std::all_of(node.placement.due.begin(), node.placement.due.end(),
                       [](Reduction due) { return due == Reduction::kNone; });
  }

  MeshChain chain_to(std::uint32_t index) const {
    MeshChain chain;
    chain.end = nodes_[index].placement;
    chain.us = nodes_[index].us;
    for (; index != 0; index = nodes_[index].parent)
      chain.steps.push_back(nodes_[index].step);
    std::reverse(chain.steps.begin(), chain.steps.end());
    return chain;
  }

  void expand(std::uint32_t index) {
    const MeshPlacement placement = nodes_[index].placement;
    std::array<bool, kMaxMeshAxes> placed{};
    for (std::size_t dim = 0; dim < placement.dims.size(); ++dim) {
      for (const std::uint8_t axis : placement.dims[dim])
        placed[axis] = true;
      if (!placement.dims[dim].empty()) unsplit(index, placement, dim);
    }
    for (std::size_t axis = 0; axis < costs_.mesh().axes(); ++axis) {
      if (placed[axis]) continue;
      const auto fine = static_cast<std::uint8_t>(axis);
      if (placement.due[axis] != Reduction::kNone) {
        reduce(index, placement, fine);
        continue;
      }
      for (std::size_t dim = 0; dim < placement.dims.size(); ++dim) {
        if (is_wanted(placement, fine, dim) || (detours_ && divides(placement, fine, dim))) {
          try_step(index, placement, {Kind::kSplit, fine, 0, static_cast<std::uint8_t>(dim)});
        }
      }
      if (target_ != nullptr && target_->due[axis] != Reduction::kNone) {
        try_step(index, placement, {Kind::kToPartial, fine, 0, 0});
      }
    }
  }

  // Tries to undo the innermost split of a dimension. Only possible if the pieces are equal.
  void unsplit(std::uint32_t index, const MeshPlacement& placement, std::size_t dim) {
    const std::int64_t size = costs_.shape()[dim];
    if (size % pieces(costs_.mesh(), placement.dims[dim]) != 0) return;
    const std::uint8_t axis = placement.dims[dim].back();
    const auto from = static_cast<std::uint8_t>(dim);
    try_step(index, placement, {Kind::kAllGather, axis, from, 0});
    for (std::size_t to = 0; to < placement.dims.size(); ++to) {
      if (to == dim || !divides(placement, axis, to)) continue;
      try_step(index, placement, {Kind::kAllToAll, axis, from, static_cast<std::uint8_t>(to)});
    }
  }

  void reduce(std::uint32_t index, const MeshPlacement& placement, std::uint8_t axis) {
    try_step(index, placement, {Kind::kAllReduce, axis, 0, 0});
    for (std::size_t dim = 0; dim < placement.dims.size(); ++dim) {
      if (!divides(placement, axis, dim)) continue;
      try_step(index, placement, {Kind::kReduceScatter, axis, 0, static_cast<std::uint8_t>(dim)});
    }
  }

  bool divides(const MeshPlacement& placement, std::uint8_t axis, std::size_t dim) const {
    const std::int64_t count =
        pieces(costs_.mesh(), placement.dims[dim]) * costs_.mesh().axis_size(axis);
    return costs_.shape()[dim] % count == 0;
  }

  // Returns true if the split can be done and the target has it.
  bool is_wanted(const MeshPlacement& placement, std::uint8_t axis, std::size_t dim) const {
    if (target_ == nullptr) return false;
    const MeshPlacement::Axes& now = placement.dims[dim];
    const MeshPlacement::Axes& wanted = target_->dims[dim];
    if (now.size() >= wanted.size() || wanted[now.size()] != axis) return false;
    if (!std::equal(now.begin(), now.end(), wanted.begin())) return false;
    // Pieces may be uneven if the dimension is split once, but not if it is split again.
    return now.empty() ? true : divides(placement, axis, dim);
  }

  void try_step(std::uint32_t index, const MeshPlacement& placement, const MeshStep& step) {
    const double us = nodes_[index].us + costs_.step_us(placement, step);
    meet(after(placement, step, target_ == nullptr ? Reduction::kNone : target_->due[step.axis]),
         us, index, step);
  }

  void meet(MeshPlacement placement, double us, std::uint32_t parent, MeshStep step) {
    const auto fresh_index = static_cast<std::uint32_t>(nodes_.size());
    const auto [at, fresh] = index_.try_emplace(code_of(placement), fresh_index);
    if (fresh) {
      nodes_.push_back({std::move(placement), us, parent, step, false});
    } else {
      Node& node = nodes_[at->second];
      if (node.settled || us >= node.us) return;
      node.us = us;
      node.parent = parent;
      node.step = step;
    }
    queue_.emplace(us, at->second);
  }

  using Entry = std::tuple<double, std::uint32_t>;  // ties go to the older node

  const MeshCosts& costs_;
  const MeshPlacement* target_;
  bool detours_;
  std::uint64_t goal_ = 0;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t, CodeHash> index_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::optional<MeshChain> cheapest_chain(const MeshCosts& costs, const MeshPlacement& source,
                                        const MeshPlacement* target) {
  if (target != nullptr) {
    // A split that is undone later can pay off, because smaller pieces are cheaper to move.
    if (auto chain = Search(costs, source, target, true).run()) return chain;
  }
  return Search(costs, source, target, false).run();
}

}  // namespace shardwright::program
