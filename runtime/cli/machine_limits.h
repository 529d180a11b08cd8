// What the command does at the limits of the machine: memory, threads, disk.
#pragma once

namespace shardwright::cli {

// Ends the process with a message and the exit status kMachineLimit if malloc() fails. May be
// called before constructors have run.
void check_memory();

// Prepares the process for failures. When memory runs out, a pipe is closed or a file becomes too
// large, it ends with a message and kMachineLimit. A signal that ends it leaves no unfinished
// files. Precondition: called first, on the only thread.
void prepare_for_limits();

// Prints the current exception. Returns the exit status. Precondition: called in a catch block.
// Allocates nothing.
int fail_of_exception() noexcept;

// Flushes standard output. Returns `status`, or kMachineLimit with a message on standard error if
// any output was lost.
int close_output(int status);

}  // namespace shardwright::cli
