// The seam between algorithms and threads: the search says what may run at once, not on what.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace shardwright {

// Runs independent pieces of a loop, possibly at once. Implementations: InlineExecutor here, and
// the threaded ones in runtime/.
// Thread safety: parallel_for may be called from one thread at a time per executor; different
// executors are independent.
class Executor {
 public:
  virtual ~Executor() = default;

  // Number of workers: `body` sees worker indices in [0, workers()), and no two calls with the same
  // index run at the same time, so that per-worker scratch needs no lock.
  virtual unsigned workers() const = 0;

  // Calls body(worker, begin, end) for disjoint ranges that cover [0, count); ranges have at least
  // `grain` indices where count allows. Returns when all are done. Which worker gets which range is
  // not specified: results must not depend on it. If a body throws, one of the exceptions is
  // rethrown here after all started ranges have ended.
  template <class Body>
  void parallel_for(std::size_t count, std::size_t grain, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run(count, grain == 0 ? 1 : grain,
        RangeBody{const_cast<void*>(static_cast<const void*>(std::addressof(body))),
                  [](void* object, unsigned worker, std::size_t begin, std::size_t end) {
                    (*static_cast<Plain*>(object))(worker, begin, end);
                  }});
  }

 protected:
  // A reference to a callable; allocates nothing.
  struct RangeBody {
    void* object;
    void (*call)(void*, unsigned, std::size_t, std::size_t);
    void operator()(unsigned worker, std::size_t begin, std::size_t end) const {
      call(object, worker, begin, end);
    }
  };
  virtual void run(std::size_t count, std::size_t grain, RangeBody body) = 0;
};

// Everything on the calling thread, in order.
class InlineExecutor final : public Executor {
 public:
  unsigned workers() const override { return 1; }

 protected:
  void run(std::size_t count, std::size_t, RangeBody body) override {
    if (count > 0) body(0, 0, count);
  }
};

}  // namespace shardwright
