// Makes a plan from the entries of a plan file.
#pragma once

#include <memory>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/plan.h"
#include "core/embedding/search_space.h"
#include "core/status.h"

namespace shardwright::embedding {

// The plan keeps the space alive. Memory and the user's placement rules are not checked. Errors:
// kInvalidInput with the JSON pointer in the plan file, for an option that the space lacks, ranks
// that do not exist or are not one per shard, and tables that are missing, twice, or on ranks that
// their sharding type does not allow.
Result<Plan> plan_of_entries(const std::shared_ptr<const SearchSpace>& space,
                             const std::vector<PlanEntry>& entries);

}  // namespace shardwright::embedding
