#include "runtime/execution/tbb_executor.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

namespace shardwright {

namespace {

// Arenas that wait for their next executor. oneTBB frees an arena only where one of its own threads
// has looked in after the work was done, so that an arena per planning call leaks 7 KiB each time.
// Thread safety: any.
class IdleArenas {
 public:
  std::unique_ptr<tbb::task_arena> take(unsigned workers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto same_size = [workers](const auto& arena) {
      return arena->max_concurrency() == static_cast<int>(workers);
    };
    const auto found = std::find_if(arenas_.begin(), arenas_.end(), same_size);
    if (found == arenas_.end()) {
      return std::make_unique<tbb::task_arena>(static_cast<int>(workers), 1);
    }
    std::unique_ptr<tbb::task_arena> arena = std::move(*found);
    arenas_.erase(found);
    return arena;
  }

  void give_back(std::unique_ptr<tbb::task_arena> arena) {
    const std::lock_guard<std::mutex> lock(mutex_);
    arenas_.push_back(std::move(arena));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<tbb::task_arena>> arenas_;
};

// Never destroyed: at exit TBB may be gone before it.
IdleArenas& idle_arenas() {
  static auto* const arenas = new IdleArenas;
  return *arenas;
}

}  // namespace

class TbbExecutor::Arena {
 public:
  explicit Arena(unsigned workers) : workers_(workers), arena_(idle_arenas().take(workers)) {
    // TBB lends one thread per core and complains on standard error where more are wanted. The
    // least of all limits in the process counts, so that one is set only where it raises the
    // default.
    if (static_cast<int>(workers) > tbb::info::default_concurrency()) {
      more_threads_.emplace(tbb::global_control::max_allowed_parallelism, workers);
    }
  }
  ~Arena() { idle_arenas().give_back(std::move(arena_)); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  unsigned workers() const { return workers_; }
  tbb::task_arena& get() { return *arena_; }

 private:
  unsigned workers_;
  std::optional<tbb::global_control> more_threads_;
  std::unique_ptr<tbb::task_arena> arena_;
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
