// Writes files atomically.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"

namespace shardwright {

// Where a file lies until it is finished.
enum class Unfinished {
  kUnnamed,  // without a name, so SIGKILL leaves no file; falls back to kNamed
  kNamed,    // beside its target, as FILE.PID.N.tmp
};

// A file that replaces `path` when commit() succeeds. Until then, and if the object is destroyed
// without commit(), the old file at `path` is unchanged. The new file is synced to disk before it
// gets its name. A symbolic link is followed, also to a file that does not exist yet. For "-"
// (standard output), for names of open descriptors (/dev/stdout) and for paths that are not regular
// files, such as /dev/null or a pipe, writes take effect immediately.
// Thread safety: one thread at a time.
class OutputFile {
 public:
  // Errors: kInvalidInput; kMachineLimit; `where` is the path.
  static Result<OutputFile> open(const std::string& path,
                                 Unfinished unfinished = Unfinished::kUnnamed);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Does not report failures; commit() returns the first one.
  void write(std::string_view text);
  // Errors: kMachineLimit if something could not be written; `where` is the path.
  Status commit();

 private:
  using Name = std::unique_ptr<const std::string>;

  OutputFile(std::FILE* file, std::string path, bool replaces, Name temporary)
      : file_(file),
        path_(std::move(path)),
        replaces_(replaces),
        temporary_(std::move(temporary)) {}
  static Result<OutputFile> open_stream(int descriptor, std::string path, bool replaces,
                                        Name temporary);
  static Result<OutputFile> open_named(const std::string& target, unsigned mode);

  bool store();
  bool publish();
  void drop_temporary();

  std::FILE* file_;
  std::string path_;  // links followed
  bool replaces_;     // false if writes take effect immediately
  Name temporary_;    // of the unfinished file; null = it has none
  int error_ = 0;     // errno of the first failure
};

// Returns the file that writing to `path` changes. Follows symbolic links, the last one also to a
// file that does not exist.
std::string written_file(const std::string& path);

// Writes `text` to `path` with an OutputFile.
Status write_file(const std::string& path, std::string_view text);

// Removes the unfinished files of this process that have names. Called if the process ends without
// unwinding. Async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace shardwright
