// Ctrl-C as a request to stop.
#pragma once

#include <stop_token>
#include <thread>

namespace shardwright::cli {

// While it lives, the first SIGINT or SIGTERM asks for a stop, so that the best answer so far is
// still written; the second ends the process as usual.
// Made before any other thread, so that no other thread receives the signals.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace shardwright::cli
