// The resident memory of this process, now and at its highest.
#pragma once

#include <cstdint>

namespace shardwright::perf {

// Bytes; 0 if the system does not report them.
struct ResidentMemory {
  std::uint64_t now = 0;
  std::uint64_t peak = 0;
};
ResidentMemory resident_memory();

// Resets the peak to the current resident memory. Has no effect if the system does not support it.
void restart_peak();

}  // namespace shardwright::perf
