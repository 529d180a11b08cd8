// Data types of tensors by torch's names, where only their size matters.
#pragma once

#include <cstdint>

#include "runtime/io/json/json_members.h"

namespace shardwright {

// Reads `data_type` as the bytes of an element. Errors (kInvalidInput): an unknown name, with the
// nearest known one.
void describe_item_bytes(JsonMembers& members, std::int64_t& bytes);

}  // namespace shardwright
