// Behaviour at the machine's limits of memory, threads and disk.
#pragma once

namespace shardwright::cli {

// If malloc() fails, ends the process with a message and kMachineLimit. May precede constructors.
void check_memory();

// Prepares the process for failures. If memory runs out, a pipe is closed or a file gets too large,
// the process ends with a message and kMachineLimit. If a signal ends the process, it first removes
// unfinished files. Precondition: called first, on the only thread.
void prepare_for_limits();

// The answer is there, and the calling thread writes it: from now on the failure of any other
// thread, such as one of oneTBB's that has only begun, does not end the process.
void begin_to_write() noexcept;

// Prints the current exception and returns the exit status. Allocates nothing. Precondition: called
// in a catch block.
int fail_of_exception() noexcept;

// Flushes standard output. Returns `status`, or kMachineLimit with a message on standard error if
// any output was lost.
int close_output(int status);

}  // namespace shardwright::cli
