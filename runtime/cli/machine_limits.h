// What the command does where the machine ends: memory, threads, disk.
#pragma once

namespace shardwright::cli {

// Ends the process with a sentence and kMachineLimit if there is no memory at all. May be called
// before constructors have run.
void check_memory();

// Prepares the process to end with a sentence and kMachineLimit wherever memory runs out, a pipe is
// closed or a file becomes too large, and without unfinished files if a signal ends it.
// Precondition: called first, on the only thread.
void prepare_for_limits();

// Prints what was thrown. Returns the exit status. Precondition: called in a catch block.
// Allocates nothing.
int fail_of_exception() noexcept;

// Flushes standard output. Returns `status`, or kMachineLimit with a sentence on standard error if
// anything written there was lost.
int close_output(int status);

}  // namespace shardwright::cli
