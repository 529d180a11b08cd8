// One view of the ranks: its tree of the proof, and the lanes that share the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/tree/bound_tree.h"
#include "search/embedding/best/bound/tree/branching.h"
#include "search/embedding/best/bound/tree/pins.h"
#include "search/embedding/best/bound/tree/tree_lane.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

enum class RankView : std::uint8_t {
  kJoint,     // all hosts count as equal
  kPinned,    // the same with pins
  kSeparate,  // hosts are classes
};
inline constexpr std::size_t kRankViews = 3;

// Not moved: its parts refer to each other.
// Thread safety: lanes() may run concurrently; everything else by one thread at a time.
class TreeView {
 public:
  TreeView(BoundRows rows, std::optional<Pins> pins, const BoundParameters& parameters);
  TreeView(const TreeView&) = delete;
  TreeView& operator=(const TreeView&) = delete;

  const BoundRows& rows() const { return rows_; }
  const std::optional<Pins>& pins() const { return pins_; }
  const Pins* pinned() const { return pins_ ? &*pins_ : nullptr; }
  const Branching& branching() const { return branching_; }
  BoundTree& tree() { return tree_; }
  const BoundTree& tree() const { return tree_; }
  void plant_again() { tree_ = BoundTree(rows_, pinned()); }
  // The lane that works alone before the tree is shared.
  TreeLane& first_lane() { return *lanes_.front(); }
  const TreeLane& first_lane() const { return *lanes_.front(); }
  // The others are null until the tree is shared for the first time.
  std::span<const std::unique_ptr<TreeLane>> lanes() const { return lanes_; }
  bool is_too_large() const;

  // The other lanes begin with what the first one knows.
  void share(double target, const NodeLimits& limits, PricingKnowledge known);
  // Lanes without a leaf take half of those of the lane that has the most.
  void deal_out();

 private:
  const BoundParameters* parameters_;
  BoundRows rows_;
  std::optional<Pins> pins_;
  Branching branching_;
  BoundTree tree_;
  std::vector<std::unique_ptr<TreeLane>> lanes_;
};

}  // namespace shardwright::embedding
