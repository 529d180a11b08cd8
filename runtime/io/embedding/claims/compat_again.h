// Makes compat mode's decisions again, to check what a file says of them.
#pragma once

#include <memory>
#include <optional>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "search/budget.h"

namespace shardwright {

// Returns the file that compat mode writes for the problem, with `proposals` if `trace` is set, or
// nothing if it takes more than 2^27 placed shards, which is about a second, or than the budget has
// time for. Errors: as plan_embedding().
Result<std::optional<JsonDocument>> plan_in_compat_mode(
    const std::shared_ptr<const embedding::Problem>& problem,
    std::shared_ptr<const embedding::SearchSpace> search_space, bool trace, const Budget& budget);

}  // namespace shardwright
