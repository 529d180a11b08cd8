// Whether a plan was made for another machine than a problem has, which a forgotten flag explains.
#pragma once

#include <optional>
#include <string>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/topology.h"

namespace shardwright {

// A sentence on the machine that the file says the plan was made for, and the flags that give it:
// "the plan was made for 16 ranks with 80 GiB of HBM each, not for 8; give the same flags: --ranks
// 16". Nothing if the file says nothing else than the problem. O(ranks).
std::optional<std::string> other_machine(const PlanDocument& document,
                                         const embedding::Topology& topology);

}  // namespace shardwright
