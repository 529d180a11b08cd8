// The measured regions of best mode's engines.
#pragma once

#include <vector>

#include "perf/instr/regions.h"

namespace shardwright::perf {

std::vector<Region> best_mode_regions();

}  // namespace shardwright::perf
