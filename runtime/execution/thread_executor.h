// An executor on plain threads for builds with ThreadSanitizer, which cannot see into oneTBB.
#pragma once

#include <memory>

#include "search/executor.h"

namespace shardwright {

// Behaves as TbbExecutor, but a thread that waits for one loop does not help with others.
// Thread safety: as Executor.
class ThreadExecutor final : public Executor {
 public:
  // `threads` counts the calling thread; 0 means one per core.
  explicit ThreadExecutor(int threads);
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  unsigned workers() const override;

 protected:
  std::unique_ptr<RunningLoop> begin(std::size_t count, RangeSizes sizes, RangeBody body) override;

 private:
  class Pool;
  class ThreadLoop;
  std::unique_ptr<Pool> pool_;
};

}  // namespace shardwright
