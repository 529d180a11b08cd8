#include "runtime/cli/machine_limits.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>

#include "runtime/cli/arguments.h"
#include "runtime/io/output_file.h"
#include "runtime/io/system_error.h"
#include "runtime/surface/outcome.h"

namespace shardwright::cli {
namespace {

constexpr std::string_view kNoMemory =
    "shardwright: out of memory: give the process more (ulimit -v, ulimit -d), or use fewer "
    "threads "
    "(--threads 1)\n";
constexpr std::string_view kNoThread =
    "shardwright: no thread can be started: allow more (ulimit -u), or use fewer (--threads 1)\n";

// One thread ends the process, by writing the answer or by saying why there is none. The others
// wait.
std::atomic<bool> end_has_begun{false};
std::atomic<pthread_t> ending_thread{};

// Returns in the thread that ends the process, and never in others.
void claim_end() noexcept {
  if (!end_has_begun.exchange(true)) {
    ending_thread = pthread_self();
  } else {
    while (!pthread_equal(ending_thread, pthread_self()))
      pause();
  }
}

// Writes to standard error without allocating. Returns kMachineLimit.
int say(std::string_view sentence) noexcept {
  while (!sentence.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, sentence.data(), sentence.size());
    if (written <= 0) break;
    sentence.remove_prefix(static_cast<std::size_t>(written));
  }
  return kMachineLimit;
}

// The terminate handler, for exceptions that would leave a noexcept function or a oneTBB thread.
[[noreturn]] void end_without_unwinding() noexcept {
  if (std::current_exception() == nullptr) std::abort();
  claim_end();
  int status = kCrashed;
  try {
    throw;
  } catch (...) {
    status = fail_of_exception();
  }
  remove_unfinished_files();
  _exit(status);
}

extern "C" void end_by_signal(int signal) {
  remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// Installs the clean-up handler unless the caller ignores the signal, as nohup ignores SIGHUP.
void clean_up_on(int signal) {
  struct sigaction action = {};
  if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = &end_by_signal;
  sigaction(signal, &action, nullptr);
}

// Opens closed standard streams, so that no other file gets their descriptors.
void keep_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened in the wrong direction, so that any use of the stream still fails.
    const int opened = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != descriptor) close(opened);
  }
}

}  // namespace

void check_memory() {
  void* const volatile block = std::malloc(1);
  if (block == nullptr) _exit(say(kNoMemory));
  std::free(block);
}

void prepare_for_limits() {
  std::set_terminate(&end_without_unwinding);
  keep_standard_streams();
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM})
    clean_up_on(signal);
  // If these signals are ignored, the write fails with EPIPE or EFBIG, and the error is reported.
  for (const int signal : {SIGPIPE, SIGXFSZ})
    std::signal(signal, SIG_IGN);
}

void begin_to_write() noexcept { claim_end(); }

int fail_of_exception() noexcept {
  claim_end();
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return say(kNoMemory);
  } catch (const std::system_error& error) {
    if (is_machine_limit(error.code().value())) return say(kNoThread);
    std::fprintf(stderr, "shardwright: internal error: %s\n", error.what());
  } catch (const std::exception& error) {
    // The exception that oneTBB throws.
    if (std::string_view(error.what()).starts_with("pthread_create")) return say(kNoThread);
    std::fprintf(stderr, "shardwright: internal error: %s\n", error.what());
  } catch (...) {
    say("shardwright: internal error\n");
  }
  return kCrashed;
}

int close_output(int status) {
  std::cout.flush();
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  if (!lost || status == kMachineLimit) return status;
  return fail(system_error(ErrorCode::kMachineLimit, "standard output", "cannot write",
                           errno == 0 ? EIO : errno));
}

}  // namespace shardwright::cli
