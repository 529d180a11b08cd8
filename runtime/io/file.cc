#include "runtime/io/file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "runtime/io/system_error.h"

namespace shardwright {
namespace {

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
  if (!file) return open_error(path, "cannot open", errno);
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
    return system_error(ErrorCode::kInvalidInput, name_of(path), "cannot read", errno);
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

// Decompresses a gzip file. The file may have several members, whose contents are concatenated.
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

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  // zlib counts input bytes in 32 bits.
  max_bytes = std::min<std::size_t>(max_bytes, std::numeric_limits<uInt>::max());
  Result<std::string> bytes = read_raw(path, max_bytes);
  const bool compressed =
      bytes.ok() && bytes->size() >= 2 && (*bytes)[0] == '\x1f' && (*bytes)[1] == '\x8b';
  return compressed ? unfold(path, std::move(bytes).value(), max_bytes) : bytes;
}

}  // namespace shardwright
