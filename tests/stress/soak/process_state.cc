#include "tests/stress/soak/process_state.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace shardwright::soak {
namespace {

std::int64_t num_entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

}  // namespace

ProcessState process_state() {
  ProcessState state;
  std::int64_t total = 0;
  std::ifstream("/proc/self/statm") >> total >> state.resident_bytes;
  state.resident_bytes *= sysconf(_SC_PAGESIZE);
  state.threads = num_entries("/proc/self/task");
  state.descriptors = num_entries("/proc/self/fd");
  return state;
}

}  // namespace shardwright::soak
