// Sentences that say why the chosen option of a table is the best, and why no plan fits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explanation_answer.h"
#include "search/embedding/questions/infeasible_reason.h"
#include "search/embedding/questions/remedies.h"

namespace shardwright {

// Such as "table_wise.fused"; a load factor follows as a percentage.
std::string option_name(embedding::ShardingType type, embedding::ComputeKernel kernel,
                        std::optional<double> load_factor);
template <class Option>
std::string option_name(const Option& option) {
  return option_name(option.sharding_type, option.compute_kernel, option.load_factor);
}

// Such as "equal rating" or "0.35 ms worse on rank 5 (bwd_comms +0.3 ms)".
std::string change_text(const ExplainedOption& option);

// "rank 3 lacks 1.2 GiB HBM (1288490189 bytes)".
std::string lack_text(const embedding::MemoryLack& lack);

// Returns sentences: at most three compare the chosen option with the next best ones, and at most
// three name a cheaper option and what excludes it. Precondition: the chosen option is the first.
std::vector<std::string> reasons_for(const ExplainedTable& table);

// Says what does not fit, with names and bytes. Returns `planner_message` for the kinds that have
// no figures: kReservation, kRules, kSearch.
std::string infeasible_text(const embedding::Problem& problem,
                            const embedding::InfeasibleReason& reason,
                            const std::string& planner_message);

// Returns the command's flags that make the change; empty if no flag does.
std::string flags_of(const embedding::Problem& problem, const embedding::Remedy& remedy);

// Such as "not even 2,048 would do".
std::string failed_remedy_text(const embedding::FailedRemedy& vain);

}  // namespace shardwright
