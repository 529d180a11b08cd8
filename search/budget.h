// Limits of a search: counted work, a deadline, a request to stop.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "core/stop_reason.h"

namespace shardwright {

// What a search may still spend, and its only clock. Work is counted in units that do not depend on
// the machine or the number of threads, so a work limit always stops a search at the same point. A
// deadline or a stop request may stop it anywhere.
// Thread safety: interrupted() may be called from any thread; other members belong to the thread of
// the search.
class Budget {
 public:
  using Clock = std::chrono::steady_clock;

  Budget() = default;
  Budget(std::optional<std::uint64_t> work_limit, std::optional<double> time_limit_s,
         std::stop_token stop = {})
      : work_limit_(work_limit), stop_(std::move(stop)) {
    // A longer limit counts as no limit, because the clock could not represent its end.
    constexpr double kLongestSeconds = 1e8;
    if (time_limit_s && *time_limit_s < kLongestSeconds) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(*time_limit_s));
    }
  }

  std::uint64_t work_done() const { return work_done_; }
  void spend(std::uint64_t work) { work_done_ += work; }
  const std::optional<std::uint64_t>& work_limit() const { return work_limit_; }
  // The work left; empty without a limit.
  std::optional<std::uint64_t> most_work_left() const {
    if (!work_limit_) return std::nullopt;
    return *work_limit_ - std::min(*work_limit_, work_done_);
  }
  // Returns true if work would be left after `planned` more units.
  bool work_left(std::uint64_t planned = 0) const {
    return !work_limit_ || work_done_ + planned < *work_limit_;
  }

  // Returns a budget with the same deadline and stop request, and at most `work` units of work
  // left.
  Budget with_work_left(std::uint64_t work) const {
    Budget budget = *this;
    const std::uint64_t end = work_done_ + work;
    budget.work_limit_ = work_limit_ ? std::min(*work_limit_, end) : end;
    return budget;
  }

  // Returns a reason if the deadline has passed or a stop was requested. Reads the clock only if
  // there is a deadline.
  std::optional<StopReason> interrupted() const {
    if (stop_.stop_requested()) return StopReason::kCancelled;
    if (deadline_ && Clock::now() >= *deadline_) return StopReason::kTimeLimit;
    return std::nullopt;
  }

 private:
  std::optional<std::uint64_t> work_limit_;
  std::uint64_t work_done_ = 0;
  std::optional<Clock::time_point> deadline_;
  std::stop_token stop_;
};

// Asks a budget whether it was interrupted, but only once per kInterval units of work, for loops
// with short iterations. After an interruption every call returns true.
// Thread safety: one thread at a time. Refers to the budget.
class StopCheck {
 public:
  // Work that takes about a millisecond.
  static constexpr std::uint64_t kInterval = 1 << 14;

  explicit StopCheck(const Budget& budget) : budget_(&budget) {}

  // Returns true if the budget was interrupted. `work`: a running total that may begin at any
  // number. The first call asks the budget.
  bool operator()(std::uint64_t work) {
    if (work - asked_at_ < kInterval) return stopped_;
    asked_at_ = work;
    stopped_ = stopped_ || budget_->interrupted().has_value();
    return stopped_;
  }
  // Asks the budget in every call.
  bool operator()() {
    stopped_ = stopped_ || budget_->interrupted().has_value();
    return stopped_;
  }

 private:
  const Budget* budget_;
  std::uint64_t asked_at_ = ~std::uint64_t{0} - kInterval;
  bool stopped_ = false;
};

}  // namespace shardwright
