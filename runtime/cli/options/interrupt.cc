#include "runtime/cli/options/interrupt.h"

#include <ctime>
#include <system_error>

#include <pthread.h>
#include <unistd.h>

#include "runtime/io/output_file.h"

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
  try {
    waiter_ = std::jthread([this, set](const std::stop_token& done) { wait(set, done); });
  } catch (const std::system_error&) {
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
}

void InterruptGuard::wait(const sigset_t& signals, const std::stop_token& done) {
  const timespec patience{0, 50'000'000};
  while (!done.stop_requested()) {
    const int signal = sigtimedwait(&signals, nullptr, &patience);
    if (signal < 0) continue;
    if (source_.request_stop()) continue;
    // Nobody else receives the signals, so the second one is carried out here.
    remove_unfinished_files();
    _exit(kKilledBySignal + signal);
  }
}

InterruptGuard::~InterruptGuard() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace shardwright::cli
