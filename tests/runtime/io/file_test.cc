// Files, compressed or not. They are written completely or not at all.
#include <doctest/doctest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/io/file.h"

namespace shardwright::file_test {

using shardwright::OutputFile;
using shardwright::read_file;
using shardwright::write_file;

namespace {

namespace fs = std::filesystem;

// A directory that the destructor removes.
class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(fs::temp_directory_path() / ("shardwright_file_test_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { fs::remove_all(path_); }

  std::string operator/(const char* name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

void write_gzip(const std::string& path, const std::string& text, const char* mode = "wb") {
  gzFile file = gzopen(path.c_str(), mode);
  REQUIRE(file != nullptr);
  CHECK(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
        static_cast<int>(text.size()));
  gzclose(file);
}

}  // namespace

TEST_CASE("file: a written file can be read back, and no other file is left") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.json";
  const std::string text(1'000'003, 'x');
  REQUIRE(write_file(path, text).ok());
  CHECK(read_file(path).value() == text);
  REQUIRE(write_file(path, "short").ok());
  CHECK(read_file(path).value() == "short");
  CHECK(directory.files() == 1);
}

TEST_CASE("file: an output that is not committed leaves the old file alone") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.json";
  REQUIRE(write_file(path, "old").ok());
  {
    auto file = OutputFile::open(path);
    REQUIRE(file.ok());
    OutputFile output = std::move(file).value();
    output.write("new");
  }
  CHECK(read_file(path).value() == "old");
  CHECK(directory.files() == 1);
}

TEST_CASE("file: a file with a name until it is finished leaves no other either") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.json";
  REQUIRE(write_file(path, "old").ok());
  for (const bool committed : {false, true}) {
    auto file = OutputFile::open(path, Unfinished::kNamed);
    REQUIRE(file.ok());
    OutputFile output = std::move(file).value();
    output.write("new");
    CHECK(directory.files() == 2);
    if (committed) CHECK(output.commit().ok());
    CHECK(read_file(path).value() == (committed ? "new" : "old"));
  }
  CHECK(directory.files() == 1);
  auto file = OutputFile::open(path, Unfinished::kNamed);
  REQUIRE(file.ok());
  remove_unfinished_files();
  CHECK(directory.files() == 1);
}

TEST_CASE("file: an output has no name before it is finished, and the permissions of the old one") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.json";
  {
    auto file = OutputFile::open(path);
    REQUIRE(file.ok());
    OutputFile output = std::move(file).value();
    output.write("new");
    CHECK(directory.files() == 0);
    CHECK(output.commit().ok());
  }
  fs::permissions(path, fs::perms::owner_all | fs::perms::group_write | fs::perms::others_read);
  const fs::perms before = fs::status(path).permissions();
  REQUIRE(write_file(path, "newer").ok());
  CHECK(fs::status(path).permissions() == before);
}

TEST_CASE("file: a symbolic link stays a link") {
  const TemporaryDirectory directory;
  REQUIRE(write_file(directory / "target", "old").ok());
  fs::create_symlink(directory / "target", directory / "link");
  REQUIRE(write_file(directory / "link", "new").ok());
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(read_file(directory / "target").value() == "new");
}

TEST_CASE("file: gzip is recognised by its magic number; several members are read") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.json";
  write_gzip(path, "first ");
  write_gzip(path, "second", "ab");
  CHECK(read_file(path).value() == "first second");
  write_gzip(path, "");
  CHECK(read_file(path).value().empty());
}

TEST_CASE("file: damaged, truncated and oversized compressed files are errors with the path") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.gz";
  write_gzip(path, std::string(100'000, 'y'));
  const auto too_large = read_file(path, 99'999);
  REQUIRE_FALSE(too_large.ok());
  CHECK(too_large.error().where == path);
  CHECK(too_large.error().message.find("larger than") == 0);
  CHECK(read_file(path, 100'000).ok());

  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (std::size_t size = 2; size < bytes.size(); ++size) {
    CAPTURE(size);
    REQUIRE(write_file(path, bytes.substr(0, size)).ok());
    CHECK_FALSE(read_file(path).ok());
  }
  char& checksum = bytes[bytes.size() - 6];
  checksum = static_cast<char>(checksum ^ 0x55);
  REQUIRE(write_file(path, bytes).ok());
  CHECK_FALSE(read_file(path).ok());
}

TEST_CASE("file: a file that cannot be opened is an error with the path") {
  const TemporaryDirectory directory;
  const auto missing = read_file(directory / "missing");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().where == directory / "missing");
  CHECK(missing.error().message.find("cannot open") == 0);
  CHECK(read_file(directory / ".").error().message == "is a directory");
  CHECK_FALSE(write_file(directory / "no/such/directory", "x").ok());
  CHECK_FALSE(write_file(directory / ".", "x").ok());
  CHECK(write_file("/dev/null", "x").ok());
}

}  // namespace shardwright::file_test
