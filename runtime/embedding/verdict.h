// Judges a plan: compares it with TorchRec's plan, describes its slowest rank, and plans for other
// machines.
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

// The answer for a changed machine. The search starts from the given plan, so the new plan is at
// least as fast there if the given plan fits.
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
  std::string table;       // the table with most of the time
  double table_share = 0;  // fraction of the rank's time
};

// Precondition: the result has a valid plan with at least one table.
SlowestRank slowest_rank(const embedding::Problem& problem, const EmbeddingPlanResult& result);

// Plans, with a twentieth of the default work each, for these changes: twice the bandwidth between
// hosts (within the host if there is only one), half and twice the memory, one more host. Returns
// an empty list if answers would not be comparable: in compat mode, with the storage model, a given
// search space or a chosen layout, after a limited or stopped search, and without a plan.
std::vector<WhatIf> plan_what_ifs(const EmbeddingPlanResult& result, const PlanOptions& options);

// Returns "estimate by TorchRec 1.9.2's cost model, embedding tables alone, h100 x 32"; without a
// named accelerator also the bandwidths. `with_ranks`: names the number of ranks. Empty for the
// storage model, whose ratings are bytes.
std::string estimate_text(const embedding::ProblemSpec& problem, bool with_ranks = true);

// Returns the sentences of the verdict for text, page and JSON: a comparison with TorchRec's plan,
// the slowest rank, and one sentence per what-if. Empty without a plan.
std::vector<std::string> verdict_sentences(const embedding::Problem& problem,
                                           const EmbeddingPlanResult& result);

}  // namespace shardwright
