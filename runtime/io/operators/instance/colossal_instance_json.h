// Reads cost instances in ColossalAI's format.
#pragma once

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/operators/instance/cost_instance_json.h"

namespace shardwright {

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

}  // namespace shardwright
