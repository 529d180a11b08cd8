// Sizes of data types, which have torch's names.
#pragma once

#include <cstdint>

#include "runtime/io/json/json_members.h"

namespace shardwright {

// Describes `data_type` and reads its size in bytes. Errors: kInvalidInput for an unknown name,
// with the nearest known name.
void describe_item_bytes(JsonMembers& members, std::int64_t& bytes);

}  // namespace shardwright
