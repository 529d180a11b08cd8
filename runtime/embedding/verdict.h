// What a plan is worth: TorchRec's plan beside it, what its slowest rank does, and what a different
// machine would change, each planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"

namespace shardwright {

struct EmbeddingPlanResult;
struct PlanOptions;

// The problem planned again for another machine, from the plan in hand. It is at least as fast as
// the plan in hand on that machine, if it fits there.
struct WhatIf {
  std::string change;                 // "twice the bandwidth between hosts"
  std::int64_t ranks = 0;             // of the other machine
  std::optional<double> rating;       // absent if no plan was found
  std::optional<double> lower_bound;  // of the other machine
  bool is_impossible = false;         // it is proved that no plan exists
};

// The slowest rank of a plan.
struct SlowestRank {
  std::uint32_t rank = 0;
  embedding::Perf parts;
  std::string table;       // that takes most of its time
  double table_share = 0;  // of its time
};

// Precondition: the result has a plan with tables, whose evaluation is valid.
SlowestRank slowest_rank(const EmbeddingPlanResult& result);

// Plans a twentieth of the default work for each of these changes: twice the bandwidth between
// hosts (inside the host if there is one), half and twice the memory, one host more. Returns an
// empty list where the answer would not be comparable: compat mode, the storage model, a given
// search space, a layout that was chosen, a search that was limited or stopped, no plan.
std::vector<WhatIf> plan_what_ifs(const EmbeddingPlanResult& result, const PlanOptions& options);

// "estimate by TorchRec 1.9.2's cost model, embedding tables alone, h100 x 32". Without a named
// accelerator also the bandwidths.
std::string estimate_text(const embedding::Problem& problem);

// What a reader should know of the plan: TorchRec's plan in comparison, what the slowest rank does,
// and one sentence for every what-if. Text, page and JSON have these sentences. Empty without a
// plan.
std::vector<std::string> verdict_sentences(const EmbeddingPlanResult& result);

}  // namespace shardwright
