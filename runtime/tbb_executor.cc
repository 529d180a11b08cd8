#include "runtime/tbb_executor.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

namespace shardwright {

class TbbExecutor::Arena {
 public:
  explicit Arena(unsigned workers) : workers_(workers), arena_(static_cast<int>(workers), 1) {
    // TBB lends one thread per core and complains on standard error where more are wanted. The
    // least of all limits in the process counts, so that one is set only where it raises the
    // default.
    if (static_cast<int>(workers) > tbb::info::default_concurrency()) {
      more_threads_.emplace(tbb::global_control::max_allowed_parallelism, workers);
    }
  }

  unsigned workers() const { return workers_; }
  tbb::task_arena& get() { return arena_; }

 private:
  unsigned workers_;
  std::optional<tbb::global_control> more_threads_;
  tbb::task_arena arena_;
};

TbbExecutor::TbbExecutor(int threads)
    : arena_(std::make_unique<Arena>(threads > 0
                                         ? static_cast<unsigned>(threads)
                                         : std::max(1U, std::thread::hardware_concurrency()))) {}

TbbExecutor::~TbbExecutor() = default;

unsigned TbbExecutor::workers() const { return arena_->workers(); }

void TbbExecutor::run(std::size_t count, std::size_t grain, RangeBody body) {
  if (count == 0) return;
  // Less than two pieces of work are not worth waking anybody.
  if (arena_->workers() == 1 || count <= grain) return body(0, 0, count);
  // Ranges start long, because neighbours in a range share work, and end short, because the last
  // ones decide how long the workers wait for each other.
  const std::size_t workers = arena_->workers();
  std::atomic<std::size_t> next{0};
  const auto take_ranges = [&](std::size_t) {
    const auto worker = static_cast<unsigned>(tbb::this_task_arena::current_thread_index());
    std::size_t begin = next.load(std::memory_order_relaxed);
    while (begin < count) {
      const std::size_t left = count - begin;
      const std::size_t size = std::min(left, std::max(grain, left / (2 * workers)));
      if (!next.compare_exchange_weak(begin, begin + size, std::memory_order_relaxed)) continue;
      body(worker, begin, begin + size);
      begin = next.load(std::memory_order_relaxed);
    }
  };
  arena_->get().execute(
      [&] { tbb::parallel_for(std::size_t{0}, workers, take_ranges, tbb::simple_partitioner()); });
}

}  // namespace shardwright
