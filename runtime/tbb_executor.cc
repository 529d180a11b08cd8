#include "runtime/tbb_executor.h"

#include <algorithm>
#include <optional>
#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace shardwright {

class TbbExecutor::Arena {
 public:
  explicit Arena(unsigned workers) : workers_(workers), arena_(static_cast<int>(workers), 1) {
    // TBB lends one thread per core and complains on standard error where more are wanted. The
    // least of all limits in the process counts, so that one is set only where it raises the default.
    if (static_cast<int>(workers) > tbb::info::default_concurrency()) {
      more_threads_.emplace(tbb::global_control::max_allowed_parallelism, workers);
    }
  }

  unsigned workers() const { return workers_; }
  tbb::task_arena& get() { return arena_; }

 private:
  unsigned workers_;
  std::optional<tbb::global_control> more_threads_;
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
