// Finds out how many threads the machine can run now.
#pragma once

namespace shardwright {

// Returns how many of `wanted` additional threads can run at once, each with some memory. Starts
// threads and ends them again, since no call returns the limits of users, control groups and
// address space. Remembers the largest answer. Needed because oneTBB ends the process if it cannot
// start a thread.
// Thread safety: any thread may call it.
unsigned startable_threads(unsigned wanted);

}  // namespace shardwright
