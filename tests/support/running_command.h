// Runs the command in the background and measures how long it runs after a signal.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace shardwright::test_support {

struct StopOutcome {
  bool signalled = false;  // the command was still running when the signal was sent
  int status = -1;         // the exit code, or 128 + the signal that killed it
  // Seconds from the signal to the end: the smaller of wall time and processor time of all threads.
  // Wall time is too long on a busy machine, and processor time is too long with several threads.
  double late_s = 0;
  double cpu_s = 0;  // processor time of all threads in the whole run
};

// Starts the command; its output goes to /dev/null. Thread safety: one thread at a time.
class RunningCommand {
 public:
  explicit RunningCommand(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
    const char* const program = std::getenv("SHARDWRIGHT_COMMAND");
    REQUIRE_MESSAGE(program != nullptr, "SHARDWRIGHT_COMMAND must name the command");
    arguments_.insert(arguments_.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments_)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_WRONLY, 0);
    REQUIRE(posix_spawn(&pid_, program, &files, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&files);
  }
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;
  ~RunningCommand() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // Sends the signal after `cpu_s` seconds of processor time, and waits for the end.
  StopOutcome stop_after(double cpu_s, int signal) {
    StopOutcome outcome;
    while (!has_ended() && cpu_seconds() < cpu_s)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (ended_) return ended(outcome);
    outcome.signalled = true;
    const double before = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    kill(pid_, signal);
    wait_for_end();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    outcome = ended(outcome);
    outcome.late_s = std::min(wall.count(), outcome.cpu_s - before);
    return outcome;
  }
  StopOutcome finish() {
    wait_for_end();
    return ended({});
  }

 private:
  static double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }

  // Processor time of all threads so far; 0 if the process has ended.
  double cpu_seconds() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    text.erase(0, text.rfind(')') + 1);
    std::istringstream fields(text);
    std::string skipped;
    for (int i = 0; i < 11; ++i)
      fields >> skipped;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  bool has_ended() {
    if (!ended_) ended_ = wait4(pid_, &wait_status_, WNOHANG, &usage_) == pid_;
    return ended_;
  }
  void wait_for_end() {
    if (!ended_) ended_ = wait4(pid_, &wait_status_, 0, &usage_) == pid_;
  }
  StopOutcome ended(StopOutcome outcome) const {
    constexpr int kKilled = 128;
    outcome.status =
        WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : kKilled + WTERMSIG(wait_status_);
    outcome.cpu_s = seconds(usage_.ru_utime) + seconds(usage_.ru_stime);
    return outcome;
  }

  std::vector<std::string> arguments_;
  pid_t pid_ = 0;
  bool ended_ = false;
  int wait_status_ = 0;
  rusage usage_{};
};

}  // namespace shardwright::test_support
