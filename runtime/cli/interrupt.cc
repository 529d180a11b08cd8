#include "runtime/cli/interrupt.h"

#include <system_error>

#include <pthread.h>
#include <unistd.h>

#include "runtime/io/output_file.h"

namespace shardwright::cli {
namespace {

constexpr int kKilledBySignal = 128;  // as in shells

// The destructor sends this signal to end the wait. By default a process ignores it.
constexpr int kWakeUp = SIGURG;

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kWakeUp);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

// Waits for signals in a thread, since a signal handler may call almost no function.
InterruptGuard::InterruptGuard() {
  const sigset_t set = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  try {
    waiter_ = std::jthread([this, set](const std::stop_token& done) { wait(set, done); });
  } catch (const std::system_error&) {
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
}

void InterruptGuard::wait(const sigset_t& signals, const std::stop_token& done) {
  while (!done.stop_requested()) {
    const int signal = sigwaitinfo(&signals, nullptr);
    if (signal < 0 || signal == kWakeUp) continue;
    if (source_.request_stop()) continue;
    // The signals are blocked in all threads, so this thread must end the process.
    remove_unfinished_files();
    _exit(kKilledBySignal + signal);
  }
}

InterruptGuard::~InterruptGuard() {
  if (waiter_.joinable()) {
    waiter_.request_stop();
    pthread_kill(waiter_.native_handle(), kWakeUp);
    waiter_.join();
  }
  const sigset_t set = awaited_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace shardwright::cli
