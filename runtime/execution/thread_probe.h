// How many threads the machine can run now.
#pragma once

namespace shardwright {

// Returns how many of `wanted` more threads can run at once, each with some memory of its own.
// Starts them and ends them, since the limits of users, control groups and address space cannot be
// asked for; afterwards remembers the largest answer. oneTBB needs this: where it cannot start a
// thread that it was promised, it ends the process.
// Thread safety: any thread may call it.
unsigned startable_threads(unsigned wanted);

}  // namespace shardwright
