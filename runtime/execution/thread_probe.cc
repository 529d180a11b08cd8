#include "runtime/execution/thread_probe.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace shardwright {
namespace {

constexpr std::size_t kStackBytes = std::size_t{4} << 20;    // as for oneTBB's workers
constexpr std::size_t kMemoryBytes = std::size_t{64} << 10;  // more than oneTBB uses per worker

// A thread that allocates memory and waits until all probes have started.
struct Probe {
  std::mutex* all_started;
  pthread_t thread = {};
  bool has_memory = false;
};

void* run_probe(void* argument) {
  Probe& probe = *static_cast<Probe*>(argument);
  void* const volatile memory = std::malloc(kMemoryBytes);
  probe.has_memory = memory != nullptr;
  probe.all_started->lock();
  probe.all_started->unlock();
  std::free(memory);
  return nullptr;
}

unsigned count_startable(unsigned wanted) {
  std::mutex all_started;
  std::vector<Probe> probes(wanted, Probe{&all_started});
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return 0;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  unsigned started = 0;
  {
    const std::lock_guard<std::mutex> lock(all_started);
    while (started < wanted &&
           pthread_create(&probes[started].thread, &attributes, run_probe, &probes[started]) == 0) {
      ++started;
    }
  }
  unsigned able = 0;
  for (unsigned i = 0; i < started; ++i) {
    pthread_join(probes[i].thread, nullptr);
    able += probes[i].has_memory ? 1U : 0U;
  }
  pthread_attr_destroy(&attributes);
  return able;
}

}  // namespace

unsigned startable_threads(unsigned wanted) {
  // TBB's threads outlive their executor, so the threads of an earlier answer still exist.
  static std::atomic<unsigned> known{0};
  if (wanted <= known) return wanted;
  const unsigned able = count_startable(wanted);
  unsigned before = known;
  while (before < able && !known.compare_exchange_weak(before, able)) {
  }
  return able;
}

}  // namespace shardwright
