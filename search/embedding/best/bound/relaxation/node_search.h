// All plans of a node, tried by core's search.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/bound/search/choices/plan_goal.h"
#include "core/embedding/bound/search/plan_search.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/parameters/bound_parameters.h"

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

}  // namespace shardwright::embedding
