// All plans of a node, tried by core's search.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/bound/certificate/bound_certificate.h"
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

// Takes at most so many steps. The last of `fixing` are the prices that shorten the search. With an
// `improvement` it looks for better plans, by this part, after one that it found. Says nothing
// where there are placement rules.
SearchedNode search_node(const BoundRows& rows, double target, const Domain& domain,
                         const MultiplierList& fixing, std::uint64_t most_steps, double improvement,
                         const NodeSearchParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
