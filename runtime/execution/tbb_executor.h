// The executor of the product: a private oneTBB arena.
#pragma once

#include <memory>

#include "search/executor.h"

namespace shardwright {

// Runs ranges on `threads` workers (0 = one per core) of a private task arena, or on fewer if the
// machine cannot start all. While it waits for a loop, the calling thread is one of the workers. A
// private arena keeps planners in one process from sharing workers' scratch and from waiting for
// each other's tasks. May be used from inside a TBB task of the host program.
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
