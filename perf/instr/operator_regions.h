// The measured regions of the domains `operators` and `program`.
#pragma once

#include <vector>

#include "perf/instr/regions.h"

namespace shardwright::perf {

std::vector<Region> operator_and_program_regions();

}  // namespace shardwright::perf
