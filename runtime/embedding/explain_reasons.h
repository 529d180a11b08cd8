// Why the chosen option of a table won, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explanation_answer.h"
#include "search/embedding/questions/infeasible_reason.h"
#include "search/embedding/questions/remedies.h"

namespace shardwright {

// "table_wise.fused", with the share of a cache.
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

// Compares the chosen option with the next best ones, then names cheaper options with what excludes
// them; at most three of each. Precondition: the options are in order, the chosen one first.
std::vector<std::string> reasons_for(const ExplainedTable& table);

// What does not fit, with names and bytes. For the kinds without figures (kReservation, kRules,
// kSearch) it is `planner_message`.
std::string infeasible_text(const embedding::Problem& problem,
                            const embedding::InfeasibleReason& reason,
                            const std::string& planner_message);

// Flags of the command that make the change; empty if no flag does.
std::string flags_of(const embedding::Problem& problem, const embedding::Remedy& remedy);

// "not even 2,048 would do".
std::string failed_remedy_text(const embedding::FailedRemedy& vain);

}  // namespace shardwright
