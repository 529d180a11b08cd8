// Sizes in the form that people type, such as "80GiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"

namespace shardwright {

// Reads a positive number of bytes with a unit, in any case: B, KiB, MiB, GiB, TiB (powers of 1024)
// or KB, MB, GB, TB (powers of 1000). Without a unit: bytes, at least 2^20.
Result<std::int64_t> parse_bytes(std::string_view text);

// Returns a text that parse_bytes() reads as exactly `bytes`: "80GiB", "1536MiB", "1000B".
std::string exact_size(std::int64_t bytes);

// Reads a bandwidth such as "900GB/s" as bytes per second: a size with a unit, and "/s".
Result<double> parse_bandwidth(std::string_view text);

// Returns the whole number that a text such as "40k", "400_000", "40,000" or "4e4" stands for, or
// nullopt. For hints in error messages; readers accept only digits.
std::optional<std::int64_t> whole_number_meant(std::string_view text);

}  // namespace shardwright
