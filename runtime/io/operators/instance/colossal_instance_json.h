// Reads ColossalAI's form of cost instances.
#pragma once

#include "core/operators/instance/lowered_instance.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/operators/instance/cost_instance_json.h"

namespace shardwright {

// Nodes with strategies, edges with cost matrices, and the merged form if the file has one and the
// options do not ask for `unmerged`. Errors: kInvalidInput with a JSON pointer.
Result<operators::OperatorProblem> read_colossal_instance(JsonValue root,
                                                          const CostInstanceOptions& options);

// A sum of bytes that is too large belongs to no limit of the file, but to what is added up: the
// same error at `where`.
inline Error at_sum(Error error, const std::string& where) {
  if (error.where.starts_with("/limits")) error.where = where;
  return error;
}

}  // namespace shardwright
