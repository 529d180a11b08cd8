// An executor that runs ranges in random order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "search/executor.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

// Cuts every loop into ranges of random length and shuffles them. Every loop has `workers` threads
// that take the ranges one after the other. If several loops run at once, only one of them uses a
// worker index at a time.
class ShufflingExecutor final : public Executor {
 public:
  ShufflingExecutor(unsigned workers, std::uint64_t seed)
      : workers_(workers), random_(seed), worker_mutexes_(workers) {}

  unsigned workers() const override { return workers_; }

  // Number of ranges of all loops so far.
  std::size_t ranges() const { return ranges_; }

 protected:
  std::unique_ptr<RunningLoop> begin(std::size_t count, RangeSizes sizes, RangeBody body) override {
    std::vector<Range> ranges = shuffled_ranges(count, sizes);
    ranges_ += ranges.size();
    return std::make_unique<ThreadLoop>(std::move(ranges), body, worker_mutexes_);
  }

 private:
  class ThreadLoop final : public RunningLoop {
   public:
    ThreadLoop(std::vector<std::pair<std::size_t, std::size_t>> ranges, RangeBody body,
               std::deque<std::mutex>& worker_mutexes)
        : ranges_(std::move(ranges)), body_(body) {
      unsigned worker = 0;
      for (std::mutex& mutex : worker_mutexes)
        threads_.emplace_back([this, &mutex, index = worker++] { work(index, mutex); });
    }
    ~ThreadLoop() override { next_ = ranges_.size(); }

    void wait() override {
      threads_.clear();
      if (failure_) std::rethrow_exception(failure_);
    }

   private:
    void work(unsigned worker, std::mutex& worker_mutex) {
      try {
        for (std::size_t i = next_++; i < ranges_.size(); i = next_++) {
          const std::lock_guard lock(worker_mutex);
          body_(worker, ranges_[i].first, ranges_[i].second);
        }
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
      }
    }

    std::vector<std::pair<std::size_t, std::size_t>> ranges_;
    RangeBody body_;
    std::atomic<std::size_t> next_{0};
    std::mutex mutex_;
    std::exception_ptr failure_;
    std::vector<std::jthread> threads_;  // last member, so joined before the others are destroyed
  };
  using Range = std::pair<std::size_t, std::size_t>;

  std::vector<Range> shuffled_ranges(std::size_t count, RangeSizes sizes) {
    std::vector<Range> ranges;
    for (std::size_t begin = 0; begin < count;) {
      std::size_t end = begin + std::min(sizes.least + random_.below(2 * sizes.least), sizes.most);
      if (end + sizes.least > count) end = count;
      ranges.emplace_back(begin, end);
      begin = end;
    }
    for (std::size_t i = ranges.size(); i > 1; --i)
      std::swap(ranges[i - 1], ranges[random_.below(i)]);
    return ranges;
  }

  unsigned workers_;
  Random random_;
  std::deque<std::mutex> worker_mutexes_;  // held while the worker runs a range
  std::size_t ranges_ = 0;
};

}  // namespace shardwright::test_support
