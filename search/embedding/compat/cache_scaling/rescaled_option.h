// An option with a cache of another size.
#pragma once

#include <optional>

#include "core/embedding/sharding_option.h"
#include "core/status.h"
#include "search/embedding/compat/estimate/cost_model.h"

namespace shardwright::embedding {

// `cached`, an option with the kernel fused_uvm_caching, with its cache at `load_factor` and the
// costs that `model` gives it. Nothing means that the table names no load factor. Errors: those of
// `model`.
Result<ShardingOption> with_load_factor(const ShardingOption& cached,
                                        std::optional<double> load_factor, const CostModel& model);

// The same without a cache: all rows are in HBM.
Result<ShardingOption> in_plain_hbm(const ShardingOption& cached, const CostModel& model);

}  // namespace shardwright::embedding
