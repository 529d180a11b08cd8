// Lists every parameter of the operators' solver by name.
#pragma once

#include <vector>

#include "perf/parameters/parameter.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::perf {

using SolverParameter = Parameter<operators::SolverParameters>;

// Names are group.member, as in search/operators/solve/solver_parameters.h.
std::vector<SolverParameter> solver_parameters();

}  // namespace shardwright::perf
