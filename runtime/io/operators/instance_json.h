// Reads cost instances in all supported formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/operators/instance/cost_instance.h"
#include "core/operators/instance/sharding_request.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_shape.h"

namespace shardwright {

struct CostInstanceOptions {
  std::optional<std::int64_t> budget;  // bytes; replaces the file's limit
  bool unmerged = false;  // ColossalAI's format: read the graph before merging, without followers
};

// Recognises the format by its keys: `problem` is the contest's, `s_len` (at the root or in
// `request`) XLA's, `nodes` with strategies ColossalAI's. In ColossalAI's format, the cost of a
// node is compute + communication + costs added by merging; its memory counts at all times; a
// follower and an alias have the strategy of their node. Source: Solver,
// colossalai/auto_parallel/tensor_shard/solver/solver.py. Errors: kInvalidInput with the place; as
// read_contest_instance().
Result<operators::OperatorProblem> read_cost_instance(std::string_view text,
                                                      const CostInstanceOptions& options = {});
// Returns the shape that read_cost_instance() reads.
JsonShape cost_instance_shape();

// Reads XLA's format: s_len, s_follow, edges, live, c, d, m, p, r, aliases, v, memory_budget;
// optionally live_edges, memory_edge, overbudget_coeff, max_departures, max_cost and names.
Result<operators::ShardingRequest> read_sharding_request(std::string_view text);

// Reads ColossalAI's format: nodes with strategies, edges with cost matrices. Reads the merged
// graph, if any, unless `options.unmerged`. Errors: kInvalidInput with a JSON pointer.
Result<operators::OperatorProblem> read_colossal_instance(JsonValue root,
                                                          const CostInstanceOptions& options);

// Changes the place of an error at "/limits" to `where`. CostInstance::make reports overflowing
// sums of bytes at the limits, but the summed numbers are to blame.
inline Error at_sum(Error error, const std::string& where) {
  if (error.where.starts_with("/limits")) error.where = where;
  return error;
}

// Errors: kInvalidInput with the place in the document.
Result<operators::ShardingRequest> read_sharding_request(JsonValue root);

}  // namespace shardwright
