// Says whether a plan was made for another machine, batch size or release than a problem.
#pragma once

#include <optional>
#include <string>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"

namespace shardwright {

// Returns a sentence that says what the plan was made for and which flags give that problem: "the
// plan was made for 16 ranks and batches of 4096 samples, the problem as it is given has 8 and 512;
// give the flags that the plan was made with: --ranks 16 --batch-size 4096". Nothing if the file
// and the problem agree. The file has only digests of batch size, hosts and release: usual values
// are tried, and the one with the same digest is named. O(ranks), and O(values tried x problem) if
// a digest differs.
std::optional<std::string> other_machine(const PlanDocument& document,
                                         const embedding::Problem& problem);

}  // namespace shardwright
