#include "runtime/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace shardwright {
namespace {

constexpr int kMaxAttempts = 1000;  // to find an unused name for a temporary file

std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }

Error too_large(const std::string& path, std::size_t max_bytes) {
  return invalid_input(name_of(path), "larger than " + std::to_string(max_bytes >> 20) + " MiB" +
                                          " (after decompression)");
}

struct Closer {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};
using InputFile = std::unique_ptr<std::FILE, Closer>;

Result<std::string> read_raw(const std::string& path, std::size_t max_bytes) {
  const InputFile file(path == "-" ? stdin : std::fopen(path.c_str(), "rbe"));
  if (!file) return invalid_input(path, std::string("cannot open: ") + std::strerror(errno));
  std::string bytes;
  struct stat status = {};
  if (fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    return invalid_input(path, "is a directory");
  }
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    bytes.reserve(std::min(static_cast<std::size_t>(status.st_size), max_bytes) + 1);
  }
  std::vector<char> chunk(std::size_t{1} << 18);
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    bytes.append(chunk.data(), got);
    if (bytes.size() > max_bytes) return too_large(path, max_bytes);
  }
  if (std::ferror(file.get()) != 0) {
    return invalid_input(name_of(path), std::string("cannot read: ") + std::strerror(errno));
  }
  return bytes;
}

class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 16;
    ready_ = inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK;
    if (!ready_) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

// Decompresses all members of a gzip file; a file may have several, which are concatenated.
Result<std::string> unfold(const std::string& path, std::string bytes, std::size_t max_bytes) {
  Inflater inflater;
  z_stream& stream = inflater.stream();
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 18);
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
    if (text.size() > max_bytes) return too_large(path, max_bytes);
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) return text;
      inflateReset(&stream);
    } else if (code == Z_BUF_ERROR ||
               (code == Z_OK && stream.avail_in == 0 && stream.avail_out != 0)) {
      return invalid_input(name_of(path), "the gzip-compressed data ends too early");
    } else if (code != Z_OK) {
      return invalid_input(name_of(path), "the gzip-compressed data is damaged");
    }
  }
}

// Follows symbolic links, so that a rename replaces the file and not the link to it.
std::string resolved(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  // zlib counts its input with 32 bits.
  max_bytes = std::min<std::size_t>(max_bytes, std::numeric_limits<uInt>::max());
  Result<std::string> bytes = read_raw(path, max_bytes);
  const bool compressed =
      bytes.ok() && bytes->size() >= 2 && (*bytes)[0] == '\x1f' && (*bytes)[1] == '\x8b';
  return compressed ? unfold(path, std::move(bytes).value(), max_bytes) : bytes;
}

Result<OutputFile> OutputFile::open(const std::string& path) {
  if (path == "-") return OutputFile(stdout, "standard output", "");
  struct stat status = {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return invalid_input(path, "is a directory");
  if (exists && !S_ISREG(status.st_mode)) {
    std::FILE* file = std::fopen(path.c_str(), "wbe");
    if (file == nullptr) {
      return invalid_input(path, std::string("cannot write: ") + std::strerror(errno));
    }
    return OutputFile(file, path, "");
  }
  const std::string target = exists ? resolved(path) : path;
  for (int attempt = 0;; ++attempt) {
    std::string temporary =
        target + "." + std::to_string(getpid()) + "." + std::to_string(attempt) + ".tmp";
    const mode_t mode = exists ? status.st_mode & 0777U : 0666U;
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0) return OutputFile(fdopen(descriptor, "wb"), target, std::move(temporary));
    if (errno != EEXIST || attempt == kMaxAttempts) {
      return invalid_input(path, std::string("cannot write: ") + std::strerror(errno));
    }
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      error_(other.error_) {}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  if (file_ != stdout) std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Error OutputFile::failure(const char* what) const {
  return invalid_input(path_, std::string(what) + ": " + std::strerror(error_));
}

void OutputFile::write(std::string_view text) {
  if (error_ != 0 || text.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno;
}

Status OutputFile::commit() {
  if (std::fflush(file_) != 0 && error_ == 0) error_ = errno;
  if (file_ != stdout) {
    if (std::fclose(file_) != 0 && error_ == 0) error_ = errno;
  }
  file_ = nullptr;
  if (error_ == 0 && !temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    error_ = errno;
  }
  if (error_ == 0) return {};
  if (!temporary_.empty()) unlink(temporary_.c_str());
  return failure("cannot write");
}

Status write_file(const std::string& path, std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::open(path));
  file.write(text);
  return file.commit();
}

}  // namespace shardwright
