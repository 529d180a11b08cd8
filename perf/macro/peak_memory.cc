#include "perf/macro/peak_memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace shardwright::perf {

// Source of the files: proc(5).
ResidentMemory resident_memory() {
  ResidentMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string key;
    std::uint64_t kib = 0;
    fields >> key >> kib;
    if (key == "VmRSS:") memory.now = kib * 1024;
    if (key == "VmHWM:") memory.peak = kib * 1024;
  }
  return memory;
}

void restart_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace shardwright::perf
