#include "runtime/tbb_executor.h"

#include <algorithm>
#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace shardwright {

class TbbExecutor::Arena {
 public:
  explicit Arena(unsigned workers) : workers_(workers), arena_(static_cast<int>(workers), 1) {}

  unsigned workers() const { return workers_; }
  tbb::task_arena& get() { return arena_; }

 private:
  unsigned workers_;
  tbb::task_arena arena_;
};

TbbExecutor::TbbExecutor(int threads)
    : arena_(std::make_unique<Arena>(threads > 0 ? static_cast<unsigned>(threads)
                                                 : std::max(1U, std::thread::hardware_concurrency()))) {}

TbbExecutor::~TbbExecutor() = default;

unsigned TbbExecutor::workers() const { return arena_->workers(); }

void TbbExecutor::run(std::size_t count, std::size_t grain, RangeBody body) {
  if (count == 0) return;
  // Less than two pieces of work are not worth waking anybody.
  if (arena_->workers() == 1 || count <= grain) return body(0, 0, count);
  arena_->get().execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, grain),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        const int worker = tbb::this_task_arena::current_thread_index();
                        body(static_cast<unsigned>(worker), range.begin(), range.end());
                      });
  });
}

}  // namespace shardwright
