// How many threads the machine can run now.
#pragma once

namespace shardwright {

// Returns how many of `wanted` more threads can run at once, each with some memory of its own.
// Starts and ends threads to find out, since no call returns the limits of users, control groups
// and address space. Remembers the largest answer. Used because oneTBB ends the process if it
// cannot start a thread that it was promised.
// Thread safety: any thread may call it.
unsigned startable_threads(unsigned wanted);

}  // namespace shardwright
