// Sizes as people type them: "80GiB".
#pragma once

#include <cstdint>
#include <string_view>

#include "core/status.h"

namespace shardwright::cli {

// Bytes of a number with a unit: B, KiB, MiB, GiB, TiB (powers of 1024), KB, MB, GB, TB (powers of
// 1000), letters without case; no unit means bytes, at least
// 2^20 of them. Must be above zero.
Result<std::int64_t> parse_bytes(std::string_view text);

}  // namespace shardwright::cli
