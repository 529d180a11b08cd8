// Reads how a graph of PyTorch's operators is to be planned.
#pragma once

#include <string_view>

#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/operators/plan_aten.h"

namespace shardwright {

// One JSON object. Errors (kInvalidInput with the JSON pointer): text that is no JSON, unknown keys,
// no mesh, placements that have not one word per axis.
Result<PlanAtenOptions> read_aten_options(std::string_view text);

// The model of collectives: {"model": "flat", "devices_per_host": 8} or the like.
Status read_collectives(JsonValue value, CollectiveModel& out);

}  // namespace shardwright
