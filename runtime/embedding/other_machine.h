// Recognises a plan that was made for another machine, batch size or TorchRec release.
#pragma once

#include <optional>
#include <string>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"

namespace shardwright {

// If the plan was made for another machine, batch size or release than `problem`, returns a
// sentence that names both and the flags that restore the plan's: "the plan was made for 16 ranks
// and batches of 4096 samples, the problem as it is given has 8 and 512; give the flags that the
// plan was made with: --ranks 16 --batch-size 4096". Returns nullopt if file and problem agree. A
// file has only digests of batch size, hosts and release, so usual values are tried until one has
// the digest. Cost: O(ranks), and O(values tried x problem) if a digest differs.
std::optional<std::string> other_machine(const PlanDocument& document,
                                         const embedding::Problem& problem);

}  // namespace shardwright
