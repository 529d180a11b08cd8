// The version of the headers at compile time, and of the library at run time. The two can differ.
#pragma once

#include <string_view>

#define SHARDWRIGHT_VERSION_MAJOR 0
#define SHARDWRIGHT_VERSION_MINOR 1
#define SHARDWRIGHT_VERSION_PATCH 0
#define SHARDWRIGHT_VERSION_STRING "0.1.0"

namespace shardwright {

// Returns the version of the library. It differs from SHARDWRIGHT_VERSION_STRING if headers and
// library come from different releases. O(1), does not allocate.
std::string_view library_version() noexcept;

}  // namespace shardwright
