// Lists of numbers as people type them: "8,16", "8..64:8", "8..64:x2".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace shardwright::cli {

// The numbers that entries stand for, in their order: "8" is itself; "8..64:8" is 8, 16 and so on
// to 64; "8..64:x2" is 8, 16, 32 and 64. Errors: kInvalidInput at `flag` for anything else, for
// numbers below 1, and for more than 10,000 numbers.
Result<std::vector<std::int64_t>> count_list(const char* flag,
                                             const std::vector<std::string>& entries);

}  // namespace shardwright::cli
