// Runs the command `shardwright` as a user would, through the shell.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "runtime/io/file.h"

namespace shardwright::test_support {

struct CommandOutcome {
  int status;  // -1 if a signal ended it
  std::string out;
  std::string err;
};

// Runs the command and owns a temporary folder for its files. Thread safety: one thread at a time.
class Command {
 public:
  Command()
      : folder_(std::filesystem::temp_directory_path() /
                ("shardwright_command_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& folder() const { return folder_; }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  // Runs the command with `arguments`. `before` precedes it in the shell: variables or a pipe.
  CommandOutcome operator()(const std::string& arguments, const std::string& before = "") const {
    const char* program = std::getenv("SHARDWRIGHT_COMMAND");
    REQUIRE_MESSAGE(program != nullptr, "SHARDWRIGHT_COMMAND must name the command");
    const std::string line =
        before + "'" + program + "' " + arguments + " >" + path("out") + " 2>" + path("err");
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_file(path("out")),
            *read_file(path("err"))};
  }

 private:
  std::filesystem::path folder_;
};

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Removes the member `"key":value` with a scalar value from JSON text. The other bytes stay as they
// are, so that tests can compare texts.
inline void cut_member(std::string& json, std::string_view key) {
  const std::string begin = "\"" + std::string(key) + "\":";
  const std::size_t at = json.find(begin);
  REQUIRE_MESSAGE(at != std::string::npos, key);
  json.erase(at, json.find_first_of(",}\n", at + begin.size()) - at);
}

}  // namespace shardwright::test_support
