// The interface through which searches run parallel loops.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace shardwright {

// Bounds on the ranges of iterations that workers take from a loop. The first ranges are long,
// because neighbours in a range share work. The last ranges are short, so that workers do not wait
// long for each other. If iterations differ much in length and share no work, ranges of size 1 are
// better.
struct RangeSizes {
  static constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

  // NOLINTNEXTLINE(google-explicit-constructor): a number converts to sizes without a largest range
  RangeSizes(std::size_t least_size, std::size_t most_size = kAny)
      : least(std::max<std::size_t>(1, least_size)), most(std::max(least, most_size)) {}

  // Returns the size of the next range if `left` iterations are left. Precondition: left > 0.
  std::size_t next(std::size_t left, unsigned workers) const {
    return std::min(left, std::clamp(left / workers, least, most));
  }

  std::size_t least;  // at least 1
  std::size_t most;   // at least `least`
};

// Runs loops whose iterations are independent, several loops at a time if asked to.
// Implementations: InlineExecutor below and the threaded ones in runtime/execution.
// Thread safety: begin_for, parallel_for and Loop::wait belong to one thread at a time per
// executor. Different executors are independent.
class Executor {
 protected:
  // A loop in progress. The destructor drops ranges that have not begun, and waits for all others.
  class RunningLoop {
   public:
    virtual ~RunningLoop() = default;
    // Returns when every range is done. If bodies threw, rethrows one of the exceptions.
    virtual void wait() = 0;
  };
  // A reference to a callable; allocates nothing.
  struct RangeBody {
    void* object;
    void (*call)(void*, unsigned, std::size_t, std::size_t);
    void operator()(unsigned worker, std::size_t begin, std::size_t end) const {
      call(object, worker, begin, end);
    }
  };

 public:
  virtual ~Executor() = default;

  // Bodies get worker indices in [0, workers()). Two ranges with the same index never run at the
  // same time, also if they belong to different loops, so scratch per worker needs no lock.
  virtual unsigned workers() const = 0;

  // Owns a loop that was begun. Its destructor is that of RunningLoop.
  class [[nodiscard]] Loop {
   public:
    Loop() = default;
    // Returns when every range is done. If bodies threw, rethrows one of the exceptions.
    void wait() {
      if (const std::unique_ptr<RunningLoop> running = std::move(running_)) running->wait();
    }

   private:
    friend class Executor;
    explicit Loop(std::unique_ptr<RunningLoop> running) : running_(std::move(running)) {}

    std::unique_ptr<RunningLoop> running_;  // null if the loop is done
  };

  // Begins to call body(worker, begin, end) for disjoint ranges that cover [0, count), and returns,
  // possibly before the first call. Ranges have at least `sizes.least` indices if count allows, and
  // at most `sizes.most`. Results must not depend on which worker gets which range. `body` must
  // outlive the loop. An executor without threads runs the whole loop in this call as one range,
  // and lets exceptions of `body` through.
  template <class Body>
  Loop begin_for(std::size_t count, RangeSizes sizes, Body& body) {
    if (count == 0) return {};
    return Loop(
        begin(count, sizes,
              RangeBody{const_cast<void*>(static_cast<const void*>(std::addressof(body))),
                        [](void* object, unsigned worker, std::size_t first, std::size_t last) {
                          (*static_cast<Body*>(object))(worker, first, last);
                        }}));
  }

  // Begins the loop with begin_for() and returns when every range is done.
  template <class Body>
  void parallel_for(std::size_t count, RangeSizes sizes, Body&& body) {
    begin_for(count, sizes, body).wait();
  }

 protected:
  // Begins a loop. Returns null if the loop is already done. Precondition: count > 0.
  virtual std::unique_ptr<RunningLoop> begin(std::size_t count, RangeSizes sizes,
                                             RangeBody body) = 0;
};

// Runs every loop on the calling thread as one range, inside the call that begins the loop.
// Thread safety: as Executor.
class InlineExecutor final : public Executor {
 public:
  unsigned workers() const override { return 1; }

 protected:
  std::unique_ptr<RunningLoop> begin(std::size_t count, RangeSizes, RangeBody body) override {
    body(0, 0, count);
    return nullptr;
  }
};

}  // namespace shardwright
