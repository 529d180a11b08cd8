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
    kExcluded,  // no plan of the node rates below the target; `leaf` shows it
    kFound,     // `found` does
    kUnknown,
  };
  Kind kind = Kind::kUnknown;
  std::optional<Plan> found;
  BoundNode leaf;  // of a certificate, without its `fixing`
  std::uint64_t steps = 0;
  double progress = 0;  // of a search that gave up: FoundPlan::progress
};

// Open choices, times ranks.
std::uint64_t open_cells(const BoundRows& rows, const Domain& domain);

// Takes at most so many steps. The last of `fixing` are the prices that shorten the search. Says
// nothing where there are placement rules.
SearchedNode search_node(const BoundRows& rows, double target, const Domain& domain,
                         const MultiplierList& fixing, std::uint64_t most_steps,
                         const NodeSearchParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
