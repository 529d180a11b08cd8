// Finds out whether a launcher started this process together with others, and links them.
#pragma once

#include <cstdint>
#include <memory>

#include "core/status.h"
#include "runtime/execution/processes/process_link.h"

namespace shardwright {

// What mpirun tells a process that it starts.
// Thread safety: a value.
struct Launch {
  std::uint32_t process = 0;
  std::uint32_t processes = 1;
};

// Reads the environment; one process if no launcher started this process.
Launch current_launch();
// Returns true for the process that reads, writes and prints: the only one, or the first of
// several.
bool is_first_process();

// Links the processes of the launch; returns null if there is only one process. The code that knows
// MPI is a library of its own, which is loaded here: programs need MPI neither to be built nor to
// start. Starts a thread that receives no signals. Errors: kUnsupported if this build has no such
// library, or one of another version; kMachineLimit if the processes cannot be linked.
Result<std::unique_ptr<ProcessLink>> link_processes(const Launch& launch);

}  // namespace shardwright
