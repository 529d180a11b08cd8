// Whole files in and out: plain or gzip-compressed input, output that appears complete or not at
// all.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/status.h"

namespace shardwright {

// Larger inputs are refused rather than exhaust the memory; a compressed file of a few megabytes
// may unfold to any size.
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

// The contents of `path`, or of standard input for "-", unfolded where compressed with gzip (by its
// magic number, not by its name). Errors: kInvalidInput with `where` = the path.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

// A file being written. It takes the name `path` when commit() succeeds; before that, and where
// the writer is destroyed without commit(), what stood at `path` is untouched. "-" is standard
// output and takes effect at once; so does what is no regular file, such as /dev/null or a pipe.
// Thread safety: one thread at a time.
class OutputFile {
 public:
  // Errors: kInvalidInput with `where` = the path.
  static Result<OutputFile> open(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Failures are kept and reported by commit().
  void write(std::string_view text);
  Status commit();

 private:
  OutputFile(std::FILE* file, std::string path, std::string temporary)
      : file_(file), path_(std::move(path)), temporary_(std::move(temporary)) {}
  Error failure(const char* what) const;

  std::FILE* file_;
  std::string path_;
  std::string temporary_;  // empty where the text goes to its place at once
  int error_ = 0;          // errno of the first failure
};

// Writes `text` to `path` as OutputFile does.
Status write_file(const std::string& path, std::string_view text);

}  // namespace shardwright
