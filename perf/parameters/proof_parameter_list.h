// Lists every parameter of best mode's proof by name.
#pragma once

#include <vector>

#include "perf/parameters/parameter.h"
#include "search/embedding/bound/bound_parameters.h"

namespace shardwright::perf {

using ProofParameter = Parameter<embedding::BoundParameters>;

// Names are group.member, as in search/embedding/bound/bound_parameters.h.
std::vector<ProofParameter> proof_parameters();

}  // namespace shardwright::perf
