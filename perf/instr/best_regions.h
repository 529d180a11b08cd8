// The engines of best mode as regions.
#pragma once

#include <vector>

#include "perf/instr/regions.h"

namespace shardwright::perf {

std::vector<Region> best_mode_regions();

}  // namespace shardwright::perf
