// The resources of this process: memory, threads, file descriptors. Linux only.
#pragma once

#include <cstdint>

namespace shardwright::soak {

struct ProcessState {
  std::int64_t resident_bytes = 0;
  std::int64_t threads = 0;
  std::int64_t descriptors = 0;
};

// Source: proc(5), /proc/self/{statm,task,fd}.
ProcessState process_state();

}  // namespace shardwright::soak
