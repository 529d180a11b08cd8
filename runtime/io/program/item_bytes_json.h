// Data types of tensors by torch's names, where only their size matters.
#pragma once

#include <cstdint>

#include "core/status.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// The bytes of an element. Errors (kInvalidInput): an unknown name, with the nearest known one.
Status read_item_bytes(JsonValue value, std::int64_t& out);

}  // namespace shardwright
