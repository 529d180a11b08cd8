#include "runtime/cli/options/interrupt.h"

#include <csignal>
#include <ctime>

#include <pthread.h>
#include <unistd.h>

namespace shardwright::cli {
namespace {

constexpr int kKilledBySignal = 128;  // the shell's convention

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

// A thread that waits for the signal may call anything; a signal handler may call almost nothing.
InterruptGuard::InterruptGuard() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::jthread([this, set](const std::stop_token& done) {
    const timespec patience{0, 50'000'000};
    while (!done.stop_requested()) {
      const int signal = sigtimedwait(&set, nullptr, &patience);
      if (signal < 0) continue;
      // Nobody else receives the signals, so the second one is carried out here.
      if (!source_.request_stop()) _exit(kKilledBySignal + signal);
    }
  });
}

InterruptGuard::~InterruptGuard() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace shardwright::cli
