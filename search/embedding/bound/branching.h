// How a branch-and-bound node is divided in two.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"

namespace shardwright::embedding {

// How many of `tables`, which are equal, use the choices in `first_child`, each in the given
// classes: at least `count` in the first child, fewer in the second one.
struct Branch {
  std::vector<std::uint32_t> tables;  // by rising identifier, as a certificate wants them
  std::uint32_t count = 1;
  double width = 0;  // how much the children are expected to differ
  std::vector<std::pair<std::uint32_t, ClassSet>> first_child;  // choices of the first table
};

// Restricts the domain of a node to that of its first or second child.
void restrict_to_child(const ChoiceModel& model, const Branch& branch, bool first, Domain& domain);

// Chooses the widest branch for a fractional plan of the node's relaxation.
// Thread safety: const members may be called from any thread. Refers to its arguments.
class Branching {
 public:
  Branching(const BoundRows& rows, const BranchingParameters& parameters);

  // Groups of equal tables that mix choices first: a branch separates choices of small load, or of
  // little memory, from the others, where their number is not whole. Then groups in which whole
  // numbers of tables have different choices: the relaxation lets a rank have more shards of a
  // choice on all ranks than tables have it. Then groups with choices that lie in one place: how
  // many have it there. Empty if nothing can be divided. O(choices x (classes + log choices)).
  std::optional<Branch> choose(const Domain& domain, const std::vector<EqualTables>& groups,
                               const FractionalPlan& plan, double target) const;
  // The same for choices that differ by `least` of what all ranks have, in a plan that needs only
  // shares.
  std::optional<Branch> choose_large(const Domain& domain, const std::vector<EqualTables>& groups,
                                     const FractionalPlan& plan, double target, double least) const;
  // At the widest gap between the sizes of a table's choices, whether a plan mixes them or not.
  // Empty if none is `least` of what all ranks have.
  std::optional<Branch> choose_widest_gap(const Domain& domain,
                                          const std::vector<EqualTables>& groups, double target,
                                          double least) const;

 private:
  double size_of(std::uint32_t choice, bool by_memory, double target) const;
  Branch by_choices(const EqualTables& group, bool by_memory, bool whole, const Domain& domain,
                    const FractionalPlan& plan, double target, double min_separation) const;
  Branch by_places(const EqualTables& group, const Domain& domain, const FractionalPlan& plan,
                   double target) const;
  double number_of(const EqualTables& group, std::uint32_t choice,
                   const FractionalPlan& plan) const;
  double load_at(const EqualTables& group, std::uint32_t choice, ClassSet place,
                 const FractionalPlan& plan) const;

  const BoundRows* rows_;
  const BranchingParameters& parameters_;
  double num_ranks_ = 0;
  double total_hbm_ = 0;  // bytes of all ranks
};

}  // namespace shardwright::embedding
