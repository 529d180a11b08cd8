// An executor that hands out ranges in an order that nobody can rely on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "search/executor.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

// Cuts every loop into ranges of random length, shuffles them and lets `workers` threads pick one
// after the other; the threads are started anew for every loop.
class ShufflingExecutor final : public Executor {
 public:
  ShufflingExecutor(unsigned workers, std::uint64_t seed) : workers_(workers), random_(seed) {}

  unsigned workers() const override { return workers_; }

  // Ranges handed out so far.
  std::size_t ranges() const { return ranges_; }

 protected:
  void run(std::size_t count, std::size_t grain, RangeBody body) override {
    const std::vector<Range> ranges = shuffled_ranges(count, grain);
    ranges_ += ranges.size();
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    {
      std::vector<std::jthread> threads;
      for (unsigned worker = 0; worker < workers_; ++worker) {
        threads.emplace_back([&, worker] {
          try {
            for (std::size_t i = next++; i < ranges.size(); i = next++) {
              body(worker, ranges[i].first, ranges[i].second);
            }
          } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
          }
        });
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  using Range = std::pair<std::size_t, std::size_t>;

  std::vector<Range> shuffled_ranges(std::size_t count, std::size_t grain) {
    std::vector<Range> ranges;
    for (std::size_t begin = 0; begin < count;) {
      std::size_t end = begin + grain + random_.below(2 * grain);
      if (end + grain > count) end = count;
      ranges.emplace_back(begin, end);
      begin = end;
    }
    for (std::size_t i = ranges.size(); i > 1; --i) std::swap(ranges[i - 1], ranges[random_.below(i)]);
    return ranges;
  }

  unsigned workers_;
  Random random_;
  std::size_t ranges_ = 0;
};

}  // namespace shardwright::test_support
