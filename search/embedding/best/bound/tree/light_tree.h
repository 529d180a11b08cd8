// A small tree of choices that take a large part of all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/model/table_groups.h"
#include "search/embedding/best/bound/tree/branching.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Tries to prove a target without column generation: it reduces the domain of a node, and divides
// what differs by much of what all ranks have. A model with a few tables that need every rank is
// often proved by a few such nodes, which take less than one pricing problem.
// Returns the certificate's nodes, or none if the target is not proved: a node has nothing large to
// divide, or the limits of the parameters are reached.
std::vector<BoundNode> prove_by_light_tree(const BoundRows& rows, const Branching& branching,
                                           const TableKinds& kinds, double target,
                                           const BoundParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
