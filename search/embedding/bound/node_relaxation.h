// All plans of a node, tried by core's search.
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

// What core's search said of a node.
struct SearchedNode {
  enum class Kind : std::uint8_t {
    kExcluded,  // no plan of the node rates below `below`; `leaf` shows it
    kFound,     // `found` does
    kUnknown,
  };
  Kind kind = Kind::kUnknown;
  std::optional<Plan> found;  // the last one; with any kind if better ones were looked for
  double below = 0;           // the target, or less if better plans were looked for
  BoundNode leaf;             // of a certificate, without its `fixing`
  std::uint64_t steps = 0;
};

// Open choices, times ranks.
std::uint64_t open_cells(const BoundRows& rows, const Domain& domain);

// Tries all plans of a node, a part at a time.
// Thread safety: one thread at a time. Refers to the model of the rows.
class NodeSearch {
 public:
  // Takes at most so many steps. The last of `fixing` are the prices that shorten the search. With
  // an `improvement` it looks for better plans, by this part, after one that it found. With
  // placement rules it tries all plans of the model, under these rules: a node exchanges equal
  // tables, which a rule may forbid.
  NodeSearch(const BoundRows& rows, double target, const Domain& domain,
             const MultiplierList& fixing, std::uint64_t most_steps, double improvement,
             const BoundParameters& parameters, Budget& budget);
  NodeSearch(const NodeSearch&) = delete;
  NodeSearch& operator=(const NodeSearch&) = delete;

  // Returns true if the search has ended.
  bool step(Budget& budget);
  // Once, after step() has returned true.
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
    kExcluded,  // no plan of the node rates below the target; `proof` shows it
    kDivided,   // the node may hold such a plan; `branch` divides it
    kStuck,     // it may, and nothing is left to divide
  };
  Kind kind = Kind::kStuck;
  BoundNode proof;  // of a node that is divided: `fixing` only
  Branch branch;
  FractionalPlan plan;  // of a node that is not excluded; empty if the linear program was lost
  bool was_cut_short = false;      // for lack of work, nothing was shown
  bool was_searched = false;       // before column generation
  std::uint64_t search_steps = 0;  // of a proof by search
  std::optional<Plan> found;       // below the target, by search
};

// Reduces the domain first, with the aggregate bound; then comes column generation. If neither
// excludes the node, its fractional plan says how to divide it. A choice that takes a large part of
// all ranks is divided before column generation, which would need several times as long.
// All plans of a node that nothing divides are tried, unless there are placement rules.
// Thread safety: one thread at a time. Refers to its arguments.
class NodeRelaxation {
 public:
  NodeRelaxation(const BoundRows& rows, const Branching& branching,
                 const BoundParameters& parameters)
      : rows_(&rows),
        branching_(&branching),
        parameters_(&parameters),
        columns_(rows, parameters) {}

  // Begins with a node. Column generation may take `work` units. Without `search_steps` the node
  // may not be divided, nor its plans be tried.
  void begin(double target, Domain domain, std::uint64_t work,
             std::optional<std::uint64_t> search_steps);
  bool is_active() const { return domain_.has_value(); }
  // All plans of the node are tried, because nothing divides it.
  bool is_at_leaf() const { return stuck_.has_value(); }
  void abandon();
  // One step; returns the answer once there is one. Precondition: is_active().
  std::optional<NodeAnswer> step(Budget& budget);
  // Of the node that was answered last.
  const Domain& domain() const { return answered_; }

  const ColumnGeneration& columns() const { return columns_; }
  // Takes over what another relaxation of the same rows knows.
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
  std::uint64_t leaf_steps_ = 0;  // for the next node that nothing divides
  bool was_searched_ = false;
  std::optional<NodeSearch> search_;  // while it runs
  std::optional<NodeAnswer> stuck_;   // unless that search says more
  std::optional<Domain> domain_;      // of the node
  MultiplierList fixing_;             // that reduced it
  Domain answered_;
};

}  // namespace shardwright::embedding
