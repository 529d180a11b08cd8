// The machine, batch size and release for which a plan was made, in the form of its file.
#pragma once

#include <optional>
#include <string>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"

namespace shardwright {

// The name of a fact is that of a flag ("ranks_per_host"), its value is JSON. Memory is left out if
// ranks differ.
MachineFacts machine_facts(const embedding::Problem& problem);

// Returns a sentence on the facts of the plan that differ from the problem's: "the plan was made
// for 16 ranks and batches of 4096 samples, the problem as it is given has 8 and 512". Returns
// nullopt if none differs or the file has no facts.
std::optional<std::string> other_machine(const PlanDocument& document,
                                         const embedding::Problem& problem);

}  // namespace shardwright
