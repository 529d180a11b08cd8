// The bound of a node: domain reduction, column generation, and the search of all its plans.
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
  std::optional<Plan> found;  // the best plan found; an `improvement` may set it for any kind
  double below = 0;           // the target, or less after a plan was found
  BoundNode leaf;             // of a certificate, without its `fixing`
  std::uint64_t steps = 0;
};

// Returns the number of choices with a class in the domain, times the number of ranks.
std::uint64_t open_cells(const BoundRows& rows, const Domain& domain);

// Tries all plans of a node, in steps.
// Thread safety: one thread at a time. Refers to the model of the rows.
class NodeSearch {
 public:
  // `most_steps`: limit of steps. `fixing`: its last multipliers are the prices that shorten the
  // search. `improvement`: if positive, the search continues after a plan, for plans better by this
  // fraction. With placement rules the search ignores the node and tries all plans of the model
  // that obey the rules: a node exchanges equal tables, which a rule may forbid.
  NodeSearch(const BoundRows& rows, double target, const Domain& domain,
             const MultiplierList& fixing, std::uint64_t most_steps, double improvement,
             const BoundParameters& parameters, Budget& budget);
  NodeSearch(const NodeSearch&) = delete;
  NodeSearch& operator=(const NodeSearch&) = delete;

  // Returns true if the search has ended.
  bool step(Budget& budget);
  // Call it once, after step() has returned true.
  SearchedNode take_answer();

 private:
  NodeSearchParameters parameters_;
  PlaceDomain places_;  // empty with placement rules
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
  BoundNode proof;  // of a divided node: `fixing` only
  Branch branch;
  FractionalPlan plan;  // of a node that is not excluded; empty if no linear program was solved
  bool was_cut_short = false;      // column generation did not decide the node
  bool was_searched = false;       // a search came before column generation
  std::uint64_t search_steps = 0;  // of a proof by search
  std::optional<Plan> found;       // a plan below the target, by search
};

// Bounds a node: domain reduction, then a search of all plans, then column generation. If none of
// them excludes the node, the fractional plan determines the branch. A branch on choices that take
// a large part of all ranks comes before column generation, which would take several times as long.
// If no branch exists, a longer search follows. With placement rules there is no search.
// Thread safety: one thread at a time. Refers to its arguments.
class NodeRelaxation {
 public:
  NodeRelaxation(const BoundRows& rows, const Branching& branching,
                 const BoundParameters& parameters)
      : rows_(&rows),
        branching_(&branching),
        parameters_(&parameters),
        columns_(rows, parameters) {}

  // Begins with a node. `work`: limit of column generation. `search_steps`: limit of the first
  // search; without a value, there is no search, and no branch before column generation.
  void begin(double target, Domain domain, std::uint64_t work,
             std::optional<std::uint64_t> search_steps);
  bool is_active() const { return domain_.has_value(); }
  // Returns true while all plans of a node without a branch are tried.
  bool is_at_leaf() const { return stuck_.has_value(); }
  void abandon();
  // Does one step. Returns the answer in the last step. Precondition: is_active().
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
  std::uint64_t leaf_steps_ = 0;  // for the next node without a branch
  bool was_searched_ = false;
  std::optional<NodeSearch> search_;  // while it runs
  std::optional<NodeAnswer> stuck_;   // the answer if search_ decides nothing
  std::optional<Domain> domain_;      // of the node
  MultiplierList fixing_;             // that reduced domain_
  Domain answered_;
};

}  // namespace shardwright::embedding
