// Reads whole files, plain or gzip-compressed, and writes files atomically.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/status.h"

namespace shardwright {

// Larger inputs are refused so that they cannot exhaust the memory. A compressed file of a few
// megabytes can expand to any size.
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

// Returns the contents of `path`, or of standard input for "-". Decompresses gzip data, which it
// recognises by the magic number and not by the file name. Errors: kInvalidInput; `where` is the
// path.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

// A file that replaces `path` when commit() succeeds. Until then, and if the object is destroyed
// without commit(), the old file at `path` is unchanged. For "-" (standard output) and for paths
// that are not regular files, such as /dev/null or a pipe, writes take effect immediately.
// Thread safety: one thread at a time.
class OutputFile {
 public:
  // Errors: kInvalidInput; `where` is the path.
  static Result<OutputFile> open(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Does not report failures; commit() returns the first one.
  void write(std::string_view text);
  Status commit();

 private:
  OutputFile(std::FILE* file, std::string path, std::string temporary)
      : file_(file), path_(std::move(path)), temporary_(std::move(temporary)) {}
  Error failure(const char* what) const;

  std::FILE* file_;
  std::string path_;
  std::string temporary_;  // empty if writes take effect immediately
  int error_ = 0;          // errno of the first failure
};

// Writes `text` to `path` with an OutputFile.
Status write_file(const std::string& path, std::string_view text);

}  // namespace shardwright
