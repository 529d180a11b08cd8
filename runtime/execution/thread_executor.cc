#include "runtime/execution/thread_executor.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace shardwright {

// The running loops and the threads that evaluate their ranges. One mutex guards everything: under
// ThreadSanitizer speed does not matter.
class ThreadExecutor::Pool {
 public:
  struct Work {
    std::size_t count;
    RangeSizes sizes;
    RangeBody body;
    std::size_t next = 0;
    unsigned running = 0;
    std::exception_ptr failure{};
  };

  explicit Pool(unsigned workers) {
    for (unsigned worker = 1; worker < workers; ++worker)
      threads_.emplace_back([this, worker] { serve(worker); });
  }

  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }

  void add(Work& work) {
    {
      const std::lock_guard lock(mutex_);
      active_.push_back(&work);
    }
    changed_.notify_all();
  }

  // Runs the ranges of `work` on the calling thread until none is left. Then waits for the ranges
  // that other threads run.
  void finish(Work& work) {
    std::unique_lock lock(mutex_);
    while (work.next < work.count)
      run_range(work, 0, lock);
    remove(work, lock);
  }

  void drop(Work& work) {
    std::unique_lock lock(mutex_);
    work.next = work.count;
    remove(work, lock);
  }

 private:
  void remove(Work& work, std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [&] { return work.running == 0; });
    std::erase(active_, &work);
  }

  Work* find_work() {
    const auto found = std::find_if(active_.begin(), active_.end(),
                                    [](const Work* work) { return work->next < work->count; });
    return found == active_.end() ? nullptr : *found;
  }

  void serve(unsigned worker) {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      if (Work* const work = find_work()) {
        run_range(*work, worker, lock);
      } else {
        changed_.wait(lock);
      }
    }
  }

  // Runs the next range with the lock released. Precondition: a range is left.
  void run_range(Work& work, unsigned worker, std::unique_lock<std::mutex>& lock) {
    const std::size_t left = work.count - work.next;
    const std::size_t begin = work.next;
    const std::size_t end = begin + work.sizes.next(left, workers());
    work.next = end;
    ++work.running;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work.body(worker, begin, end);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --work.running;
    if (failure) {
      work.failure = failure;
      work.next = work.count;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Work*> active_;
  bool ended_ = false;
  std::vector<std::jthread> threads_;  // last: joined before the others are destroyed
};

class ThreadExecutor::ThreadLoop final : public RunningLoop {
 public:
  ThreadLoop(Pool& pool, std::size_t count, RangeSizes sizes, RangeBody body)
      : pool_(&pool), work_{count, sizes, body} {
    pool_->add(work_);
  }
  ~ThreadLoop() override {
    if (!waited_) pool_->drop(work_);
  }

  void wait() override {
    waited_ = true;
    pool_->finish(work_);
    if (work_.failure) std::rethrow_exception(work_.failure);
  }

 private:
  Pool* pool_;
  Pool::Work work_;
  bool waited_ = false;
};

ThreadExecutor::ThreadExecutor(int threads)
    : pool_(std::make_unique<Pool>(threads > 0
                                       ? static_cast<unsigned>(threads)
                                       : std::max(1U, std::thread::hardware_concurrency()))) {}

ThreadExecutor::~ThreadExecutor() = default;

unsigned ThreadExecutor::workers() const { return pool_->workers(); }

std::unique_ptr<Executor::RunningLoop> ThreadExecutor::begin(std::size_t count, RangeSizes sizes,
                                                             RangeBody body) {
  if (pool_->workers() == 1 || count <= sizes.least) {
    body(0, 0, count);
    return nullptr;
  }
  return std::make_unique<ThreadLoop>(*pool_, count, sizes, body);
}

}  // namespace shardwright
