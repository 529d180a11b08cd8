// How a branch-and-bound node is divided in two.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// The first child keeps of `table` these choices, each in the given classes; the second child keeps
// everything else.
struct Branch {
  std::size_t table = 0;
  double width = 0;  // how much the children differ, as a part of all load or memory
  std::vector<std::pair<std::uint32_t, ClassSet>> first_child;
};

// Chooses the widest branch for a fractional plan of the node's relaxation.
// Thread safety: const members may be called from any thread. Refers to its arguments.
class Branching {
 public:
  Branching(const BoundRows& rows, const BranchingParameters& parameters);

  // Tables that mix choices first: the branch separates the choices below the mean of the mix from
  // those above it, by load or by memory. If no table mixes choices, the branch separates the place
  // that holds most of a choice from its other places. Empty if nothing can be divided. O(choices x
  // classes).
  std::optional<Branch> choose(const Domain& domain, const FractionalPlan& plan,
                               double target) const;

 private:
  Branch by_choices(std::size_t table, bool by_memory, const Domain& domain,
                    const std::vector<double>& shares, double target) const;
  Branch by_places(std::size_t table, const Domain& domain, const FractionalPlan& plan,
                   double target) const;
  double load_at(std::uint32_t choice, ClassSet place, const FractionalPlan& plan) const;

  const BoundRows* rows_;
  const BranchingParameters& parameters_;
  double num_ranks_ = 0;
  double total_hbm_ = 0;  // bytes of all ranks
};

}  // namespace shardwright::embedding
