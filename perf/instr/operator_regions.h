// The regions of the other domains: operator graphs and programs.
#pragma once

#include <vector>

#include "perf/instr/regions.h"

namespace shardwright::perf {

std::vector<Region> operator_and_program_regions();

}  // namespace shardwright::perf
