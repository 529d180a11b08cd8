// How a branch-and-bound node is divided in two.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"

namespace shardwright::embedding {

// Divides a node by the number of `tables`, which are equal, that use a choice listed in
// `first_child`, with shards only in the rank classes listed for this choice. In the first child at
// least `count` tables do; in the second child fewer tables do.
struct Branch {
  std::vector<std::uint32_t> tables;  // in ascending order of TableId, as in a BoundNode
  std::uint32_t count = 1;
  double width = 0;  // the larger, the more the children are expected to differ
  std::vector<std::pair<std::uint32_t, ClassSet>> first_child;  // choices of the first table
};

// Restricts the domain of a node to that of its first or second child.
void restrict_to_child(const ChoiceModel& model, const Branch& branch, bool first, Domain& domain);

// Chooses the widest branch (Branch::width) for a fractional plan, the solution of a node's
// relaxation.
// Thread safety: const members may be called from any thread. Refers to its arguments.
class Branching {
 public:
  Branching(const BoundRows& rows, const BranchingParameters& parameters);

  // Returns a branch of the first of these kinds that exists, or nothing:
  // (1) Between the choices of a group with small load or memory and its other choices, where a
  // fractional number of tables uses the small choices.
  // (2) The same where a whole number of tables uses the small choices. Such a branch can help
  // because the relaxation may place more shards of a choice than its tables have.
  // (3) On the number of tables that have a choice in a given place (see BoundRows::places()).
  // O(choices x (classes + log choices)).
  std::optional<Branch> choose(const Domain& domain, const std::vector<EqualTables>& groups,
                               const FractionalPlan& plan, double target) const;
  // Returns the widest branch of kind (1) whose sides differ by more than the fraction `least` of
  // the load or memory of all ranks. Reads only `plan.shares`.
  std::optional<Branch> choose_large(const Domain& domain, const std::vector<EqualTables>& groups,
                                     const FractionalPlan& plan, double target, double least) const;
  // Sorts the choices of every table by load or memory, and returns a branch at the widest gap
  // between two neighbours. Reads no plan. Returns nothing if no gap exceeds the fraction `least`
  // of the load or memory of all ranks.
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
