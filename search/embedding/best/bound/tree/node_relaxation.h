// What the relaxation says about one node of a branch-and-bound tree.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/relaxation/column_generation.h"
#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/bound/relaxation/node_search.h"
#include "search/embedding/best/bound/tree/branching.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

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
