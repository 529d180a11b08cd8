// What a proof has done of a target that is not proved yet: where another run goes on.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "search/embedding/best/bound/shared/tree_view.h"
#include "search/embedding/best/bound/target_schedule.h"
#include "search/embedding/best/bound/tree/bound_tree.h"
#include "search/embedding/best/bound/tree/pins.h"
#include "search/embedding/best/bound/uniform_targets.h"

namespace shardwright::embedding {

// The tree of the proof and its schedule. Work on a node that was not ended is not here.
// Thread safety: a value.
struct OpenProof {
  // Ratings at which something was done, which is done again once the rating has fallen.
  struct Ratings {
    double pins = std::numeric_limits<double>::infinity();
    double light_tree = std::numeric_limits<double>::infinity();
    double tree = std::numeric_limits<double>::infinity();
  };

  Ratings ratings;
  // The lowest target at which a light tree failed.
  double light_ceiling = std::numeric_limits<double>::infinity();
  std::uint32_t light_trees_left = 0;
  TargetSchedule::State schedule;
  UniformTargets::State uniform;
  RankView view = RankView::kJoint;  // of the tree
  std::optional<Pins> pins;          // of kPinned
  TreePart tree;                     // all of it
};

// Returns true if pins and divisions are of this model, and the tree is whole. What leaves prove is
// not looked at. O(size).
bool fits(const OpenProof& open, const ChoiceModel& model);
// Returns true if multipliers are of these classes.
bool fits(const OpenProof& open, const RankClasses& classes);

}  // namespace shardwright::embedding
