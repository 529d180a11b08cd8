#include "runtime/execution/tbb_executor.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "runtime/execution/thread_probe.h"

namespace shardwright {

namespace {

// Arenas for reuse by later executors. oneTBB frees an arena only after one of its threads has
// visited it when its work was done, so a new arena per planning call would leak 7 KiB each time.
// Thread safety: any thread may call any member.
class IdleArenas {
 public:
  std::unique_ptr<tbb::task_arena> take(unsigned workers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto same_size = [workers](const auto& arena) {
      return arena->max_concurrency() == static_cast<int>(workers);
    };
    const auto found = std::find_if(arenas_.begin(), arenas_.end(), same_size);
    if (found == arenas_.end()) {
      auto arena = std::make_unique<tbb::task_arena>(static_cast<int>(workers), 1);
      // oneTBB: if the first use of an arena fails, its second use waits forever.
      arena->initialize();
      return arena;
    }
    std::unique_ptr<tbb::task_arena> arena = std::move(*found);
    arenas_.erase(found);
    return arena;
  }

  // If there is no memory for the list entry, the arena is destroyed.
  void give_back(std::unique_ptr<tbb::task_arena> arena) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      arenas_.push_back(std::move(arena));
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<tbb::task_arena>> arenas_;
};

// Never destroyed, because TBB may be unloaded first at exit.
IdleArenas& idle_arenas() {
  static IdleArenas& arenas = *new IdleArenas;
  return arenas;
}

}  // namespace

class TbbExecutor::Arena {
 public:
  explicit Arena(unsigned workers) {
    if (workers == 1) return;
    try {
      // TBB has one thread per core and warns on standard error if an arena wants more. The
      // smallest limit in the process applies, so a limit is set only if it raises the default.
      if (static_cast<int>(workers) > tbb::info::default_concurrency()) {
        more_threads_.emplace(tbb::global_control::max_allowed_parallelism, workers);
      }
      arena_ = idle_arenas().take(workers);
      workers_ = workers;
    } catch (const std::bad_alloc&) {
      // The calling thread is then the only worker.
    }
  }
  ~Arena() {
    if (arena_) idle_arenas().give_back(std::move(arena_));
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  unsigned workers() const { return workers_; }
  // Precondition: more than one worker.
  tbb::task_arena& get() { return *arena_; }

 private:
  unsigned workers_ = 1;
  std::optional<tbb::global_control> more_threads_;
  std::unique_ptr<tbb::task_arena> arena_;  // null if there is one worker
};

// Runs a loop as chains of tasks, one chain for each worker except the thread that calls wait().
// Each task evaluates one range and spawns the next task of its chain. A thread that waits for
// another loop and helps with this one is therefore free again after one range.
//
// No exception of a body passes through TBB, which would allocate memory to carry it.
class TbbExecutor::TaskLoop final : public RunningLoop {
 public:
  TaskLoop(Arena& arena, std::size_t count, RangeSizes sizes, RangeBody body);
  ~TaskLoop() noexcept override;
  void wait() override;

 private:
  class Links;

  Links* links_;
  bool waited_ = false;
};

class TbbExecutor::TaskLoop::Links {
 public:
  Links(Arena& arena, std::size_t count, RangeSizes sizes, RangeBody body)
      : arena_(&arena), count_(count), sizes_(sizes), body_(body) {}

  // Starts the chains. Without memory or threads, the calling thread runs all ranges.
  void start(std::size_t chains) noexcept {
    try {
      arena_->get().execute([&] {
        for (std::size_t i = 0; i < chains && spawn(); ++i) {
        }
      });
    } catch (...) {
      broken_ = true;
    }
  }

  // Runs the remaining ranges. When it returns, no body runs and none will start.
  void finish() noexcept {
    try {
      arena_->get().execute([this] {
        while (run_range()) {
        }
        if (!broken()) group_.wait();
      });
    } catch (...) {
      // TBB may run out of memory before it calls anything.
      broken_ = true;
      fail(std::current_exception());
    }
    while (broken() && running_ > 0)
      std::this_thread::yield();
  }

  void rethrow() const {
    if (failed_) std::rethrow_exception(failure_);
  }
  void drop_rest() { next_.store(count_, std::memory_order_relaxed); }
  bool broken() const { return broken_; }

 private:
  // Spawns the next task. Returns false if TBB lacks memory or a thread; the task may still run.
  bool spawn() noexcept {
    try {
      group_.run([this] { follow(); });
      return true;
    } catch (...) {
      broken_ = true;
      return false;
    }
  }

  void follow() noexcept {
    while (run_range()) {
      if (spawn()) return;
    }
  }

  // Evaluates the next range. Returns false if no range is left.
  bool run_range() noexcept {
    ++running_;
    const bool ran = run_next();
    --running_;
    return ran;
  }

  bool run_next() noexcept {
    std::size_t begin = next_.load();
    std::size_t size = 0;
    do {
      if (begin >= count_) return false;
      size = sizes_.next(count_ - begin, arena_->workers());
    } while (!next_.compare_exchange_weak(begin, begin + size));
    try {
      body_(static_cast<unsigned>(tbb::this_task_arena::current_thread_index()), begin,
            begin + size);
    } catch (...) {
      fail(std::current_exception());
    }
    return true;
  }

  // Drops the remaining ranges and keeps the first exception.
  void fail(std::exception_ptr failure) noexcept {
    drop_rest();
    if (failed_.exchange(true)) return;
    failure_ = std::move(failure);
  }

  Arena* arena_;
  std::size_t count_;
  RangeSizes sizes_;
  RangeBody body_;
  std::atomic<std::size_t> next_{0};
  std::atomic<int> running_{0};  // threads that may be inside a body
  std::atomic<bool> broken_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  tbb::task_group group_;
};

TbbExecutor::TaskLoop::TaskLoop(Arena& arena, std::size_t count, RangeSizes sizes, RangeBody body)
    : links_(new Links(arena, count, sizes, body)) {
  // There are at most as many chains as ranges; the calling thread needs no chain.
  const std::size_t ranges = (count + sizes.least - 1) / sizes.least;
  links_->start(std::min<std::size_t>(arena.workers(), ranges) - 1);
}

TbbExecutor::TaskLoop::~TaskLoop() noexcept {
  if (!waited_) links_->drop_rest();
  if (!waited_) links_->finish();
  // TBB still counts a task that it failed to queue, and the destructor of the group would wait for
  // it. So the group is leaked.
  if (!links_->broken()) delete links_;
}

void TbbExecutor::TaskLoop::wait() {
  waited_ = true;
  links_->finish();
  links_->rethrow();
}

namespace {

// Returns `threads` (0 = number of cores), limited to what the machine can start.
unsigned possible_workers(int threads) {
  const unsigned wanted = threads > 0 ? static_cast<unsigned>(threads)
                                      : std::max(1U, std::thread::hardware_concurrency());
  return 1 + startable_threads(wanted - 1);
}

}  // namespace

TbbExecutor::TbbExecutor(int threads)
    : arena_(std::make_unique<Arena>(possible_workers(threads))) {}

TbbExecutor::~TbbExecutor() = default;

unsigned TbbExecutor::workers() const { return arena_->workers(); }

std::unique_ptr<Executor::RunningLoop> TbbExecutor::begin(std::size_t count, RangeSizes sizes,
                                                          RangeBody body) {
  // A single range runs on the calling thread.
  if (arena_->workers() == 1 || count <= sizes.least) {
    body(0, 0, count);
    return nullptr;
  }
  return std::make_unique<TaskLoop>(*arena_, count, sizes, body);
}

}  // namespace shardwright
