// Lists every parameter of best mode by name.
#pragma once

#include <vector>

#include "perf/parameters/parameter.h"
#include "search/embedding/best/best_parameters.h"

namespace shardwright::perf {

using BestParameter = Parameter<embedding::BestParameters>;

// Names are group.member, as in search/embedding/best/best_parameters.h.
std::vector<BestParameter> best_parameters();

}  // namespace shardwright::perf
