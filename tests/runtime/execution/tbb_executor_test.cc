// The executor of the product leaves nothing behind.
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>

#include "runtime/execution/tbb_executor.h"
#include "tests/support/sanitized.h"

namespace shardwright::tbb_executor_test {
namespace {

std::int64_t resident_bytes() {
  std::int64_t total = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void run_executors(int count) {
  for (int i = 0; i < count; ++i) {
    TbbExecutor executor(2);
    std::atomic<std::size_t> covered{0};
    executor.parallel_for(
        8, 1, [&](unsigned, std::size_t begin, std::size_t end) { covered += end - begin; });
    CHECK(covered == 8);
  }
}

TEST_CASE("tbb executor: thousands of executors leave no memory behind") {
  run_executors(500);
  const std::int64_t before = resident_bytes();
  run_executors(2000);
  // An arena of oneTBB takes 7 KiB: 2,000 lost ones are 14 MB.
  if (!test_support::kSanitized) CHECK(resident_bytes() - before < 2 << 20);
}

}  // namespace
}  // namespace shardwright::tbb_executor_test
