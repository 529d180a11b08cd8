// Turns Ctrl-C into a request to stop.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace shardwright::cli {

// While a guard lives, the first SIGINT or SIGTERM requests a stop, so that the search ends and the
// best answer so far is written. The second signal ends the process. If the guard cannot start its
// thread, the first signal ends the process. Precondition: no other thread exists; it might receive
// the signals.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  void wait(const sigset_t& signals, const std::stop_token& done);

  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace shardwright::cli
