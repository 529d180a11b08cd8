// The executor of release builds: a private oneTBB arena.
#pragma once

#include <memory>

#include "search/executor.h"

namespace shardwright {

// Runs ranges of a loop on `threads` workers (0 = one per core), or on fewer if the machine cannot
// start so many. A thread that waits for a loop is one of the workers. The task arena is private,
// so that planners in one process neither share workers' scratch nor wait for each other's tasks.
// May be used inside a TBB task of the host program.
// Thread safety: as Executor.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int threads);
  ~TbbExecutor() override;
  TbbExecutor(const TbbExecutor&) = delete;
  TbbExecutor& operator=(const TbbExecutor&) = delete;

  unsigned workers() const override;

 protected:
  std::unique_ptr<RunningLoop> begin(std::size_t count, RangeSizes sizes, RangeBody body) override;

 private:
  class Arena;
  class TaskLoop;
  std::unique_ptr<Arena> arena_;
};

}  // namespace shardwright
