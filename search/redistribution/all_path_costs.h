// The costs of the cheapest paths between all placements of one tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/interner.h"
#include "search/redistribution/step_costs.h"
#include "search/redistribution/visit_moves.h"

namespace shardwright::redistribution {

// Where many paths of one tensor are asked for, one search from a source finds those to all
// targets, and moves are priced once. Axes take no part in groups, and nothing becomes partial that
// was not. Placements that leave a device without elements are left out on the way. Thread safety:
// one thread at a time.
class AllPathCosts {
 public:
  static constexpr double kNoPath = std::numeric_limits<double>::infinity();

  AllPathCosts(TensorOnMesh tensor, std::shared_ptr<const StepCosts> costs);

  // By source, then by target: what find_path() with these rules costs, up to rounding; kNoPath
  // where no path is. O(placements * moves * log) for each source that is new.
  std::vector<double> table(std::span<const Placement> sources, std::span<const Placement> targets);

  std::size_t num_placements() const { return states_.size(); }

 private:
  struct Arc {
    std::uint32_t to;
    double cost;
  };
  struct State {
    Placement placement;
    std::vector<Arc> arcs;  // once it was expanded
    bool is_expanded = false;
  };
  struct CodeHash {
    std::size_t operator()(std::uint64_t code) const { return hash_mix(0, code); }
  };

  std::uint32_t state_of(const Placement& placement);
  bool is_cut_well(const Placement& placement) const;
  const std::vector<Arc>& arcs_of(std::uint32_t state);
  // The costs from the source, by state.
  const std::vector<double>& row_of(std::uint32_t source);

  TensorOnMesh tensor_;
  std::shared_ptr<const StepCosts> costs_;
  MoveRules rules_;
  MoveVisitor visitor_;
  std::vector<State> states_;
  std::unordered_map<std::uint64_t, std::uint32_t, CodeHash> numbers_;  // by code
  std::unordered_map<std::uint32_t, std::vector<double>> rows_;
};

}  // namespace shardwright::redistribution
