// The value of "stopped_by" in answers.
#pragma once

#include "core/stop_reason.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// Writes null for a search that ran to its end.
inline void write_stop(StopReason reason, JsonWriter& json) {
  reason == StopReason::kFinished ? json.null() : json.value(name_of(reason));
}

}  // namespace shardwright
