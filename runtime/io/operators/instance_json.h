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
  std::optional<std::int64_t> budget;  // bytes; replaces the limit in the file
  bool unmerged = false;  // ColossalAI's format: read the graph before merging, without followers
};

// Recognises the format by its keys: `problem` is the contest's, `s_len` (or `request` around it)
// is XLA's, `nodes` with strategies is ColossalAI's. In ColossalAI's format the cost of a node is
// compute plus communication plus the costs added by merging, and its memory is live at all times.
// A node that follows another, or is an alias of it, has the same strategy. Source: Solver,
// colossalai/auto_parallel/tensor_shard/solver/solver.py.
// Errors: kInvalidInput with the place, and those of read_contest_instance().
Result<operators::OperatorProblem> read_cost_instance(std::string_view text,
                                                      const CostInstanceOptions& options = {});
// What read_cost_instance() reads.
JsonShape cost_instance_shape();

// Reads XLA's format: s_len, s_follow, edges, live, c, d, m, p, r, aliases, v, memory_budget, and
// optionally live_edges, memory_edge, overbudget_coeff, max_departures, max_cost and names.
Result<operators::ShardingRequest> read_sharding_request(std::string_view text);

// Reads nodes with strategies and edges with cost matrices. Reads the merged graph if the file has
// one and `options.unmerged` is false. Errors: kInvalidInput with a JSON pointer.
Result<operators::OperatorProblem> read_colossal_instance(JsonValue root,
                                                          const CostInstanceOptions& options);

// Changes the place of an error about limits to `where`. CostInstance::make reports overflowing
// byte sums at the limits, but the cause is the numbers that are added.
inline Error at_sum(Error error, const std::string& where) {
  if (error.where.starts_with("/limits")) error.where = where;
  return error;
}

// Errors: kInvalidInput with the place in the document.
Result<operators::ShardingRequest> read_sharding_request(JsonValue root);

}  // namespace shardwright
