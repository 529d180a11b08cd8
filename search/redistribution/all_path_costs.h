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

// Computes the costs of paths between many placements of one tensor. One search from a source
// reaches all targets, and every move is priced once. Moves are along single axes and make no
// partial values. Paths avoid placements that cut a dimension into more pieces than it has
// elements. Thread safety: one thread at a time.
class AllPathCosts {
 public:
  static constexpr double kNoPath = std::numeric_limits<double>::infinity();

  AllPathCosts(TensorOnMesh tensor, std::shared_ptr<const StepCosts> costs);

  // Returns a row of costs for each source, with a column for each target. A cost is that of
  // find_path() under the rules above, up to rounding, or kNoPath if there is no path. O(placements
  // * moves * log) for each new source.
  std::vector<double> table(std::span<const Placement> sources, std::span<const Placement> targets);

  std::size_t num_placements() const { return states_.size(); }

 private:
  struct Arc {
    std::uint32_t to;
    double cost;
  };
  struct State {
    Placement placement;
    std::vector<Arc> arcs;  // set once the state is expanded
    bool is_expanded = false;
  };
  struct CodeHash {
    std::size_t operator()(std::uint64_t code) const { return hash_mix(0, code); }
  };

  std::uint32_t state_of(const Placement& placement);
  bool is_cut_well(const Placement& placement) const;
  const std::vector<Arc>& arcs_of(std::uint32_t state);
  // Returns the costs of the cheapest paths from `source`, by state.
  const std::vector<double>& row_of(std::uint32_t source);

  TensorOnMesh tensor_;
  std::shared_ptr<const StepCosts> costs_;
  MoveRules rules_;
  MoveVisitor visitor_;
  std::vector<State> states_;
  std::unordered_map<std::uint64_t, std::uint32_t, CodeHash> numbers_;  // by Placement::code()
  std::unordered_map<std::uint32_t, std::vector<double>> rows_;
};

}  // namespace shardwright::redistribution
