// The resident memory of this process, now and at its highest.
#pragma once

#include <cstdint>

namespace shardwright::perf {

// Bytes; 0 where the system does not say.
struct ResidentMemory {
  std::uint64_t now = 0;
  std::uint64_t peak = 0;
};
ResidentMemory resident_memory();

// Lets the peak start again from what is resident now. Without effect where the system cannot.
void restart_peak();

}  // namespace shardwright::perf
