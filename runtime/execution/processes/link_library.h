// The functions of the library that links processes.
#pragma once

#include "runtime/execution/processes/process_link.h"

namespace shardwright {

// The library lies beside the command, or in the folder of libraries of an installed command.
inline constexpr const char* kLinkLibrary = "libshardwright_mpi.so";

// The version of shardwright that the library was built from. The library shares classes with the
// command, so both must be of one build.
using LinkVersion = const char*();
inline constexpr const char* kLinkVersion = "shardwright_link_version";

// Links the processes; null if that failed. The caller owns the link.
using OpenLink = ProcessLink*();
inline constexpr const char* kOpenLink = "shardwright_open_link";

}  // namespace shardwright
