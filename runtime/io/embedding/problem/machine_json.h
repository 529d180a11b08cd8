// Reads the parts of a problem file that describe the machine beyond its topology: reserved memory,
// memory margins, and measured factors.
#pragma once

#include "core/embedding/problem/calibration.h"
#include "core/embedding/problem/memory_limits.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// Reads the value of `reserved_memory`.
Status read_reserved_memory(JsonValue value, embedding::MemoryLimits& limits);

// Reads the value of `memory_margin`: one margin for both tiers, or an object with one per tier. A
// number below 1 is a fraction, and one of at least 1024 is whole bytes. What is between is
// refused.
Status read_memory_margin(JsonValue value, embedding::MemoryLimits& limits);

// Reads the value of `calibration`.
Status read_calibration(JsonValue value, embedding::Calibration& calibration);

}  // namespace shardwright
