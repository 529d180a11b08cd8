// Runs the command with resource limits, without a shell.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/io/file.h"

namespace shardwright::test_support {

using ResourceLimits = std::vector<std::pair<int, rlim_t>>;  // pairs of RLIMIT_... and its value

constexpr uid_t kNobody = 65534;

// A child process that runs the command. Its standard output and error go to files. Thread safety:
// one thread at a time.
class ChildProcess {
 public:
  ChildProcess(const std::vector<std::string>& arguments, const std::string& out,
               const std::string& err, const ResourceLimits& limits = {}) {
    const char* const program = std::getenv("SHARDWRIGHT_COMMAND");
    REQUIRE_MESSAGE(program != nullptr, "SHARDWRIGHT_COMMAND must name the command");
    std::vector<char*> line{const_cast<char*>(program)};
    for (const std::string& argument : arguments)
      line.push_back(const_cast<char*>(argument.c_str()));
    line.push_back(nullptr);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) become(line.data(), out.c_str(), err.c_str(), limits);
  }

  void send(int signal) const { kill(pid_, signal); }

  // Returns the exit status, or minus the signal that ended the child.
  int wait() const {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  // A limit on the number of processes does not apply to root.
  static bool become_nobody_if_root() {
    return geteuid() != 0 || (setgid(kNobody) == 0 && setuid(kNobody) == 0);
  }

  // Only async-signal-safe functions may be called between fork and exec.
  [[noreturn]] static void become(char* const* line, const char* out, const char* err,
                                  const ResourceLimits& limits) {
    constexpr int kCannotStart = 126;
    for (const auto& [path, descriptor] : {std::pair{out, STDOUT_FILENO}, {err, STDERR_FILENO}}) {
      const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
      if (file < 0 || dup2(file, descriptor) < 0) _exit(kCannotStart);
      close(file);
    }
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (const auto& [resource, value] : limits) {
      const rlimit limit{value, value};
      if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) _exit(kCannotStart);
      if (resource == RLIMIT_NPROC && !become_nobody_if_root()) _exit(kCannotStart);
    }
    execv(line[0], line);
    _exit(kCannotStart);
  }

  pid_t pid_ = -1;
};

}  // namespace shardwright::test_support
