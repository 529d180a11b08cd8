// Writes files atomically.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"

namespace shardwright {

// Where a file is until commit() gives it its name.
enum class Unfinished {
  kUnnamed,  // has no name, so SIGKILL leaves no file; else as kNamed
  kNamed,    // in the target's folder, as FILE.PID.N.tmp
};

// A file that replaces `path` in commit(), after a sync to disk. Until then, and if the object is
// destroyed without commit(), the old file at `path` is unchanged. Symbolic links are followed,
// even to a file that does not exist. Written immediately instead: "-" (standard output), open
// descriptors (/dev/stdout), and files that are not regular (/dev/null, a pipe).
// Thread safety: one thread at a time.
class OutputFile {
 public:
  // Errors, with `where` = the path: kInvalidInput; kMachineLimit.
  static Result<OutputFile> open(const std::string& path,
                                 Unfinished unfinished = Unfinished::kUnnamed);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Reports no failure; commit() returns the first one.
  void write(std::string_view text);
  // Errors: kMachineLimit, with `where` = the path, if a write failed.
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
  std::string path_;  // after following links
  bool replaces_;     // false: writes take effect immediately
  Name temporary_;    // name of the unfinished file; null if it has none
  int error_ = 0;     // errno of the first failure, or 0
};

// Returns the file that a write to `path` changes. Follows links, even to files that do not exist.
std::string written_file(const std::string& path);

// Writes `text` to `path` with an OutputFile.
Status write_file(const std::string& path, std::string_view text);

// Removes this process's named unfinished files, if it ends without unwinding. Async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace shardwright
