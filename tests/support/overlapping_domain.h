// A domain for explore() that records whether its stages ran at the same time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "search/budget.h"

namespace shardwright::test_support {

// Has three batches, of which two are in flight. propose() of the second batch and evaluate() of
// the first wait until the other has begun. With `take_in_too`, synchronize() of the first batch
// and evaluate() of the second do the same; this needs an executor whose calling thread does not
// evaluate. A stage stops waiting after ten seconds.
class Overlapping {
 public:
  explicit Overlapping(bool take_in_too) : take_in_too_(take_in_too) {}

  std::size_t batches_in_flight() const { return 2; }
  RangeSizes range_sizes() const { return 1; }

  std::size_t propose(std::size_t, const Budget&) {
    if (proposed_ == 3) return 0;
    if (++proposed_ == 2) meet(proposing_, evaluating_first_);
    return kCandidates;
  }
  void evaluate(std::size_t slot, unsigned, std::size_t begin, std::size_t, const Budget&) {
    if (begin > 0) return;
    if (slot == 0) meet(evaluating_first_, proposing_);
    if (slot == 1 && take_in_too_) meet(evaluating_second_, taking_in_);
  }
  bool synchronize(std::size_t, Budget&) {
    if (++taken_in_ == 1 && take_in_too_) meet(taking_in_, evaluating_second_);
    return true;
  }

  // Returns true if all stages that waited met their partner.
  bool overlapped() const { return met_ == (take_in_too_ ? 5 : 3); }

 private:
  // Several, because executors may run a single range on the calling thread.
  static constexpr std::size_t kCandidates = 8;

  void meet(bool& here, const bool& there) {
    std::unique_lock lock(mutex_);
    here = true;
    changed_.notify_all();
    if (changed_.wait_for(lock, std::chrono::seconds(10), [&] { return there; })) ++met_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool proposing_ = false;
  bool evaluating_first_ = false;
  bool evaluating_second_ = false;
  bool taking_in_ = false;
  bool take_in_too_;
  int met_ = 0;  // counts evaluate() of the third batch, too, which uses the slot of the first
  int proposed_ = 0;
  int taken_in_ = 0;
};

}  // namespace shardwright::test_support
