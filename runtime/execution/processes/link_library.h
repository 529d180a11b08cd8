// Names and types of the functions in the library that links processes.
#pragma once

#include "runtime/execution/processes/process_link.h"

namespace shardwright {

// The library lies beside the command, or in the library folder of an installed command.
inline constexpr const char* kLinkLibrary = "libshardwright_mpi.so";

// The version of shardwright from which the library was built. Library and command share classes,
// so both must come from the same build.
using LinkVersion = const char*();
inline constexpr const char* kLinkVersion = "shardwright_link_version";

// Links the processes; returns null on failure. The caller owns the link.
using OpenLink = ProcessLink*();
inline constexpr const char* kOpenLink = "shardwright_open_link";

}  // namespace shardwright
