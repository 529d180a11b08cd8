// The nodes of a tree over ranks.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/bound/pricing/capacity_multipliers.h"
#include "search/embedding/best/bound/ranks/rank_domain.h"
#include "search/embedding/best/bound/ranks/rank_program.h"
#include "search/embedding/best/bound/relaxation/domain_reduction.h"

namespace shardwright::embedding {

// The lane that visited a node, and how many it had visited before.
struct RankNodeId {
  std::uint32_t lane = 0;
  std::uint32_t index = 0;
  auto operator<=>(const RankNodeId&) const = default;
};

// Where a node is in the tree.
struct RankNodePlace {
  std::optional<RankNodeId> parent;  // none: it is the root
  bool is_first_child = true;
  auto operator<=>(const RankNodePlace&) const = default;
};

// A node that was visited.
struct RankNode {
  RankNodeId id;
  RankNodePlace place;
  double bound = 0;  // no less than that of its parent
  MultiplierList fixing;
  // That show the bound, or prices for the search. Empty: those of its parent.
  std::vector<CapacityMultipliers> multipliers;
  // None: it is closed, or cannot be divided.
  std::optional<RankDivision> division;
  // All its plans were tried, in so many steps.
  bool is_searched = false;
  std::uint64_t search_steps = 0;
  // What the check of a certificate takes for it, roughly, without the search.
  std::uint64_t check_steps = 0;

  // A step of a search takes as long as so many others.
  std::uint64_t all_check_steps() const { return check_steps + 6 * search_steps; }
};

// What the children of a node begin with.
struct DividedRankNode {
  RankDomain domain;
  RankProgram::Basis basis;     // empty before the root was visited
  std::vector<ClassSet> named;  // what the divisions on the way to it say of ranks
  RankDivision division;
};

// A node that is yet to be visited.
struct OpenRankNode {
  RankNodePlace place;
  double bound = 0;  // of its parent
  double part = 1;   // of the tree: half of its parent's
  // The other child shares it. At the root nothing is divided.
  std::shared_ptr<const DividedRankNode> parent;
};

// Orders a heap: the lowest bound first, then in a fixed order.
inline bool is_later(const OpenRankNode& a, const OpenRankNode& b) {
  return a.bound != b.bound ? a.bound > b.bound : a.place > b.place;
}

}  // namespace shardwright::embedding
