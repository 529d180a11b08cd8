// Finds out whether a launcher such as mpirun started several processes, and links them.
#pragma once

#include <cstdint>
#include <memory>

#include "core/status.h"
#include "runtime/execution/processes/process_link.h"

namespace shardwright {

// This process's number and the number of processes, as mpirun says.
// Thread safety: a value.
struct Launch {
  std::uint32_t process = 0;
  std::uint32_t processes = 1;
};

// Reads the environment. Returns process 0 of 1 if no launcher started this process.
Launch current_launch();
// Returns true for the first (or only) process. Only this process reads, writes and prints.
bool is_first_process();

// Links the processes of the launch and returns the link; null if there is only one process. Loads
// the library that calls MPI, so that programs need MPI neither to be built nor to start. The link
// starts a thread that receives no signals. Errors: kUnsupported if the library is missing or has
// another version; kMachineLimit if the processes cannot be linked.
Result<std::unique_ptr<ProcessLink>> link_processes(const Launch& launch);

}  // namespace shardwright
