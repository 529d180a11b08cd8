// Ctrl-C as a request to stop.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace shardwright::cli {

// While a guard lives, the first SIGINT or SIGTERM requests a stop, so that the best answer so far
// is still written, also if it is being written already. The second one ends the process as usual,
// as the first one does if no thread can be started to wait for it. Precondition: no other thread
// has been started, since it would receive the signals.
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
