#include "perf/macro/isolated.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace shardwright::perf {
namespace {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<std::string> run_isolated(const std::string& name,
                                 const std::function<std::string()>& body) {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return Error{ErrorCode::kUnsupported, "cannot open a pipe", name};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return Error{ErrorCode::kUnsupported, "cannot start a process", name};
  if (child == 0) {
    close(ends[0]);
    _exit(write_all(ends[1], body()) ? 0 : 1);
  }
  close(ends[1]);
  std::string answer = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return Error{ErrorCode::kUnsupported, "ended by signal " + std::to_string(WTERMSIG(status)),
                 name};
  }
  if (WEXITSTATUS(status) != 0) {
    return Error{ErrorCode::kUnsupported, "ended with " + std::to_string(WEXITSTATUS(status)),
                 name};
  }
  return answer;
}

}  // namespace shardwright::perf
