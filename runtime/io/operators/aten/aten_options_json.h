// Reads how a graph of PyTorch's operators is to be planned.
#pragma once

#include <string_view>

#include "core/status.h"
#include "runtime/operators/plan_aten.h"

namespace shardwright {

// One JSON object. A mesh that is given takes the place of the text's, which may then have none.
// Errors (kInvalidInput with the JSON pointer): text that is no JSON, unknown keys, no mesh,
// placements that have not one word per axis.
Result<PlanAtenOptions> read_aten_options(std::string_view text,
                                          const redistribution::MeshShape& mesh = {});

}  // namespace shardwright
