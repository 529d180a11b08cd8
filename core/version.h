// The version of the headers that a program was compiled with, and of the library that it runs
// with.
#pragma once

#include <string_view>

#define SHARDWRIGHT_VERSION_MAJOR 0
#define SHARDWRIGHT_VERSION_MINOR 1
#define SHARDWRIGHT_VERSION_PATCH 0
#define SHARDWRIGHT_VERSION_STRING "0.1.0"

namespace shardwright {

// Differs from SHARDWRIGHT_VERSION_STRING when headers and library come from different builds.
// O(1), does not allocate.
std::string_view library_version() noexcept;

}  // namespace shardwright
