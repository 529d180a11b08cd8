// Reads what a problem file says of the machine beyond its topology: memory set aside, margins, and
// measured factors.
#pragma once

#include "core/embedding/problem/calibration.h"
#include "core/embedding/problem/memory_limits.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// The object under `reserved_memory`.
Status read_reserved_memory(JsonValue value, embedding::MemoryLimits& limits);

// The value under `memory_margin`: of both tiers alike, or an object with one per tier. A number
// below 1 is a fraction, another one whole bytes.
Status read_memory_margin(JsonValue value, embedding::MemoryLimits& limits);

// The object under `calibration`.
Status read_calibration(JsonValue value, embedding::Calibration& calibration);

}  // namespace shardwright
