// What the options of a problem call on a measured machine, and what of that was not measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/embedding/problem/machine_model.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/perf_estimator.h"

namespace shardwright::embedding {

// Returns the kernel of an option, and the part of its call that a shard of `rows` x `columns` is.
// Without statistics of the cache, the most popular rows are in it.
LookupKind lookup_kind(const EstimateInputs& in);
LookupCall lookup_call(const EstimateInputs& in, std::int64_t rows, std::int64_t columns);

// Replaces the compute times of a shard by measured ones, if the problem's machine has a model of
// the kernel. A cache without prefetching fetches within the lookup, so that nothing is left to
// prefetch.
Perf with_measured_compute(const EstimateInputs& in, Perf perf, std::int64_t rows,
                           std::int64_t columns);

// Returns the bytes that an average rank sends in an all-to-all of all tables.
double mean_message_bytes(const Problem& problem);

// Returns sentences on what the options of the problem need and the machine's file lacks, or what
// was assumed; none without a machine. Costs about as much as an enumeration.
std::vector<std::string> unmeasured(const Problem& problem);

}  // namespace shardwright::embedding
