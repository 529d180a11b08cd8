// Reads cost instances in every form that the command takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/operators/instance/lowered_instance.h"
#include "core/operators/instance/sharding_request.h"
#include "core/status.h"

namespace shardwright {

struct CostInstanceOptions {
  std::optional<std::int64_t> budget;  // bytes; instead of what the file says
  bool unmerged = false;  // ColossalAI's form: the graph before merging, without shared strategies
};

// Tells the form by its first keys: the contest's has `problem`, XLA's `s_len` (or `request` around
// it), ColossalAI's `nodes` with strategies. In ColossalAI's form every node pays compute,
// communication and what merging added, and holds its memory all the time; a node that follows
// another, or is an alias of one, takes its strategy. Source: ColossalAI tensor_shard, Solver.
// Errors: kInvalidInput with the place; those of read_contest_instance.
Result<operators::OperatorProblem> read_cost_instance(std::string_view text,
                                                      const CostInstanceOptions& options = {});

// XLA's form: s_len, s_follow, edges, live, c, d, m, p, r, aliases and v, memory_budget and the
// optional live_edges, memory_edge, overbudget_coeff, max_departures, max_cost, names.
Result<operators::ShardingRequest> read_sharding_request(std::string_view text);

}  // namespace shardwright
