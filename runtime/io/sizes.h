// Sizes as people type them: "80GiB".
#pragma once

#include <cstdint>
#include <string_view>

#include "core/status.h"

namespace shardwright {

// The bytes of a positive number with a unit: B, KiB, MiB, GiB, TiB (powers of 1024) or KB, MB, GB,
// TB (powers of 1000), in any case. Without a unit the number is bytes, and must be at least 2^20.
Result<std::int64_t> parse_bytes(std::string_view text);

}  // namespace shardwright
