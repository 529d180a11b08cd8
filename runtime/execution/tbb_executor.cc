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
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace shardwright {

namespace {

// Arenas that wait for their next executor. oneTBB frees an arena only after one of its own threads
// has visited it once the work was done, so a new arena per planning call leaks 7 KiB each time.
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

// Never destroyed, because TBB may be unloaded before it at exit.
IdleArenas& idle_arenas() {
  static auto* const arenas = new IdleArenas;
  return *arenas;
}

}  // namespace

class TbbExecutor::Arena {
 public:
  explicit Arena(unsigned workers) : workers_(workers), arena_(idle_arenas().take(workers)) {
    // TBB has one thread per core and warns on standard error if an arena wants more. The smallest
    // limit in the process applies, so a limit is set only if it raises the default.
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

// A loop is a group of task chains, one for each worker except the calling thread, which joins when
// it waits. A link of a chain evaluates one range and spawns the next link. A thread that waits for
// one loop and helps with another is therefore free again after one range.
class TbbExecutor::TaskLoop final : public RunningLoop {
 public:
  TaskLoop(Arena& arena, std::size_t count, std::size_t grain, RangeBody body)
      : arena_(&arena), count_(count), grain_(grain), body_(body) {
    // More chains than ranges would have nothing to do.
    const std::size_t ranges = (count + grain - 1) / grain;
    const std::size_t chains = std::min<std::size_t>(arena.workers(), ranges) - 1;
    arena_->get().execute([&] {
      for (std::size_t i = 0; i < chains; ++i) spawn_link();
    });
  }

  ~TaskLoop() noexcept override {
    if (waited_) return;
    drop_rest();
    try {
      arena_->get().execute([this] { group_.wait(); });
    } catch (...) {
      // The caller is unwinding for another reason.
    }
  }

  void wait() override {
    waited_ = true;
    arena_->get().execute([this] {
      group_.run_and_wait([this] {
        while (run_range()) {
        }
      });
    });
  }

 private:
  void spawn_link() {
    group_.run([this] {
      if (run_range()) spawn_link();
    });
  }

  // Evaluates the next range. Returns false if none is left.
  bool run_range() {
    std::size_t begin = next_.load(std::memory_order_relaxed);
    std::size_t size = 0;
    do {
      if (begin >= count_) return false;
      size = range_size(count_ - begin);
    } while (!next_.compare_exchange_weak(begin, begin + size, std::memory_order_relaxed));
    try {
      body_(static_cast<unsigned>(tbb::this_task_arena::current_thread_index()), begin,
            begin + size);
    } catch (...) {
      drop_rest();
      throw;
    }
    return true;
  }

  // Ranges start long, because neighbours in a range share work, and end short, because the last
  // ones decide how long the workers wait for each other.
  std::size_t range_size(std::size_t left) const {
    return std::min(left, std::max(grain_, left / arena_->workers()));
  }

  void drop_rest() { next_.store(count_, std::memory_order_relaxed); }

  Arena* arena_;
  std::size_t count_;
  std::size_t grain_;
  RangeBody body_;
  std::atomic<std::size_t> next_{0};
  tbb::task_group group_;
  bool waited_ = false;
};

TbbExecutor::TbbExecutor(int threads)
    : arena_(std::make_unique<Arena>(threads > 0
                                         ? static_cast<unsigned>(threads)
                                         : std::max(1U, std::thread::hardware_concurrency()))) {}

TbbExecutor::~TbbExecutor() = default;

unsigned TbbExecutor::workers() const { return arena_->workers(); }

std::unique_ptr<Executor::RunningLoop> TbbExecutor::begin(std::size_t count, std::size_t grain,
                                                          RangeBody body) {
  // A single range is not worth waking another thread.
  if (arena_->workers() == 1 || count <= grain) {
    body(0, 0, count);
    return nullptr;
  }
  return std::make_unique<TaskLoop>(*arena_, count, grain, body);
}

}  // namespace shardwright
