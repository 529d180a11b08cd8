// The bound of a branch-and-bound node.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/plan_search.h"
#include "core/embedding/bound/table_choices.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/branching.h"
#include "search/embedding/bound/column_generation.h"
#include "search/embedding/bound/domain_reduction.h"

namespace shardwright::embedding {

// The result of core's exhaustive search of a node.
struct SearchedNode {
  enum class Kind : std::uint8_t {
    kExcluded,  // no plan of the node rates below `below`; `leaf` is the proof
    kFound,     // `found` rates below the target
    kUnknown,
  };
  Kind kind = Kind::kUnknown;
  std::optional<Plan> found;  // the best plan found; with an `improvement`, of any kind
  double below = 0;           // the target, or a lower rating after a plan was found
  BoundNode leaf;             // the proof; its `fixing` is empty
  std::uint64_t steps = 0;
};

// Returns (choices that the domain does not exclude) x (ranks).
std::uint64_t open_cells(const BoundRows& rows, const Domain& domain);

// Tries all plans of a node with core's exhaustive search, in steps.
// Thread safety: one thread at a time. Refers to the model of the rows.
class NodeSearch {
 public:
  // `fixing`: its last multipliers are the prices that prune the search. `improvement`: if
  // positive, the search continues after it has found a plan, for plans that are better by this
  // fraction. With placement rules the search ignores the domain and tries all plans that obey the
  // rules, because nodes assume that equal tables can be exchanged, which rules may forbid.
  NodeSearch(const BoundRows& rows, double target, const Domain& domain,
             const MultiplierList& fixing, std::uint64_t most_steps, double improvement,
             const BoundParameters& parameters, Budget& budget);
  NodeSearch(const NodeSearch&) = delete;
  NodeSearch& operator=(const NodeSearch&) = delete;

  // Returns true if the search has ended.
  bool step(Budget& budget);
  // Must be called once, after step() has returned true.
  SearchedNode take_answer();

 private:
  NodeSearchParameters parameters_;
  PlaceDomain places_;  // of the node; empty with placement rules
  SearchedNode node_;
  const Budget* budget_ = nullptr;  // while it runs
  std::optional<PlanSearch> search_;
};

struct NodeAnswer {
  enum class Kind : std::uint8_t {
    kExcluded,  // no plan of the node rates below the target; see `proof`
    kDivided,   // the node may hold a plan below the target; see `branch`
    kStuck,     // the node may hold a plan below the target, and no branch exists
  };
  Kind kind = Kind::kStuck;
  BoundNode proof;  // for a divided node, only `fixing`
  Branch branch;
  FractionalPlan plan;             // of a node that is not excluded; may be empty
  bool was_cut_short = false;      // column generation ended undecided
  bool was_searched = false;       // a search came before column generation
  std::uint64_t search_steps = 0;  // steps of a proof by search
  std::optional<Plan> found;       // a plan below the target, found by search
};

// Bounds a node: domain reduction, then a search of all plans, then column generation. If none of
// these excludes the node, the fractional plan of column generation determines the branch. If there
// is a branch on choices that take a large part of all ranks, the node is divided before the search
// and column generation, which would take several times as long. If no branch exists, a longer
// search follows. With placement rules there is no search.
// Thread safety: one thread at a time. Refers to its arguments.
class NodeRelaxation {
 public:
  NodeRelaxation(const BoundRows& rows, const Branching& branching,
                 const BoundParameters& parameters)
      : rows_(&rows),
        branching_(&branching),
        parameters_(&parameters),
        columns_(rows, parameters) {}

  // Starts work on a node: tries to exclude `target` for the options that `domain` leaves open.
  // `work`: limit of column generation. `search_steps`: limit of the search that comes before. If
  // `search_steps` is empty, column generation starts at once, without a search or a division.
  void begin(double target, Domain domain, std::uint64_t work,
             std::optional<std::uint64_t> search_steps);
  bool is_active() const { return domain_.has_value(); }
  // Returns true while the longer search of a node without a branch runs.
  bool is_at_leaf() const { return stuck_.has_value(); }
  void abandon();
  // Does one step. Returns the answer after the last step. Precondition: is_active().
  std::optional<NodeAnswer> step(Budget& budget);
  // The reduced domain of the last node with an answer.
  const Domain& domain() const { return answered_; }

  const ColumnGeneration& columns() const { return columns_; }
  // Takes over the knowledge of another relaxation of the same rows.
  void learn(const PricingKnowledge& other) { columns_.learn(other); }

 private:
  std::optional<NodeAnswer> reduce(Budget& budget);
  std::optional<NodeAnswer> answer(RelaxationAnswer found, Budget& budget);
  bool begin_search(std::uint64_t most_steps, Budget& budget);
  std::optional<NodeAnswer> search(Budget& budget);
  NodeAnswer end(NodeAnswer answer);

  const BoundRows* rows_;
  const Branching* branching_;
  const BoundParameters* parameters_;
  ColumnGeneration columns_;
  double target_ = 0;
  std::uint64_t work_ = 0;
  std::optional<std::uint64_t> search_steps_;
  std::uint64_t leaf_steps_ = 0;  // limit of the longer search
  bool was_searched_ = false;
  std::optional<NodeSearch> search_;  // while it runs
  std::optional<NodeAnswer> stuck_;   // the answer if the longer search fails
  std::optional<Domain> domain_;      // of the node
  MultiplierList fixing_;             // multipliers that reduced domain_
  Domain answered_;
};

}  // namespace shardwright::embedding
