// How a branch-and-bound node is divided in two.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"

namespace shardwright::embedding {

// A branch on the number of equal `tables` that use a choice of `first_child` in its given classes:
// at least `count` tables in the first child, fewer in the second child.
struct Branch {
  std::vector<std::uint32_t> tables;  // by rising identifier, as a certificate wants them
  std::uint32_t count = 1;
  double width = 0;  // how much the children are expected to differ
  std::vector<std::pair<std::uint32_t, ClassSet>> first_child;  // choices of the first table
};

// Restricts the domain of a node to that of its first or second child.
void restrict_to_child(const ChoiceModel& model, const Branch& branch, bool first, Domain& domain);

// Chooses the branch of the largest width for a fractional plan of the node's relaxation.
// Thread safety: const members may be called from any thread. Refers to its arguments.
class Branching {
 public:
  Branching(const BoundRows& rows, const BranchingParameters& parameters);

  // Returns a branch of the first kind that exists: (1) between the choices of small load or memory
  // of a group and its other choices, where a fractional number of tables uses the small ones; (2)
  // the same where this number is whole, since the relaxation may place more shards of a choice
  // than its tables have; (3) on the number of tables with a choice in a given place. Returns
  // nothing if no branch exists. O(choices x (classes + log choices)).
  std::optional<Branch> choose(const Domain& domain, const std::vector<EqualTables>& groups,
                               const FractionalPlan& plan, double target) const;
  // Returns the widest branch of kind (1) whose sides differ by more than the fraction `least` of
  // the load or memory of all ranks. Uses only the shares of the plan.
  std::optional<Branch> choose_large(const Domain& domain, const std::vector<EqualTables>& groups,
                                     const FractionalPlan& plan, double target, double least) const;
  // Returns a branch at the widest gap between the sizes of a table's choices, without regard to a
  // plan; nothing if no gap exceeds the fraction `least` of the load or memory of all ranks.
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
