// Tables whose large shards break the symmetry of equal ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Tables no two of whose shards fit on one rank, beside what every rank holds. All choices of such
// a table have the same number of shards. Where all ranks count as equal, a plan may exchange ranks
// until the n-th table lies in the n-th rank class, which has a rank for each of its shards. Every
// such class has little room for others, which no relaxation sees that counts all ranks as one
// class. Holds for the target and below, once the multipliers have removed choices.
struct Pins {
  struct Step {
    MultiplierList fixing;              // removes choices first
    std::vector<std::uint32_t> tables;  // in the model
  };
  std::vector<Step> steps;
  std::vector<std::uint32_t> tables;  // of all steps
  std::vector<std::uint32_t> sizes;   // of their rank classes: the number of their shards
  // The part of the gap between the aggregate bound and the target that the pins close.
  double gain = 0;
};

// Every choice that a plan below the target can take, anywhere.
Domain root_domain(const BoundRows& rows, double target);
// The rows of a model in which all ranks count as equal, and the pins divide them into classes.
BoundRows pinned_rows(const ChoiceModel& model, const Pins& pins);
// The domain of the root node with the pins. `rows`: those of the pins.
void pin(const BoundRows& rows, const Pins& pins, double target, Domain& domain, Budget& budget);

// Looks for pins below the target, largest shards first, again and again: what a pin leaves to
// others may remove choices, and a table with fewer choices may be pinned. Empty if there are none.
Pins find_pins(const ChoiceModel& model, double target, const BoundParameters& parameters,
               Budget& budget);

}  // namespace shardwright::embedding
