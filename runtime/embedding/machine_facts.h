// The machine, batch size and release that a plan was made for, as its file keeps them.
#pragma once

#include <optional>
#include <string>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"

namespace shardwright {

// Names of facts are those of flags ("ranks_per_host"), values are JSON. Memory that differs from
// rank to rank is left out.
MachineFacts machine_facts(const embedding::Problem& problem);

// Returns a sentence that says what the plan was made for, where that differs from the problem:
// "the plan was made for 16 ranks and batches of 4096 samples, the problem as it is given has 8 and
// 512". Nothing if the two agree, or if the file has no facts.
std::optional<std::string> other_machine(const PlanDocument& document,
                                         const embedding::Problem& problem);

}  // namespace shardwright
