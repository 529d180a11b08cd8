#include "tests/fuzz/targets/scratch_folder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {

ScratchFolder::ScratchFolder() {
  const std::string any(6, 'X');  // mkdtemp() replaces it
  path_ = (std::filesystem::temp_directory_path() / ("shardwright_fuzz_" + any)).string();
  expect(mkdtemp(path_.data()) != nullptr, "a temporary folder can be made");
  std::filesystem::current_path(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::current_path("/", ignored);
  std::filesystem::remove_all(path_, ignored);
}

void ScratchFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ + "/" + name, std::ios::binary) << text;
}

void ScratchFolder::clear() const {
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    std::filesystem::remove_all(entry.path());
}

CapturedOutput::CapturedOutput(int descriptor)
    : descriptor_(descriptor), original_(dup(descriptor)), memory_(memfd_create("output", 0)) {
  dup2(memory_, descriptor_);
}

CapturedOutput::~CapturedOutput() {
  dup2(original_, descriptor_);
  ::close(original_);
  ::close(memory_);
}

std::string CapturedOutput::text() const {
  const off_t end = lseek(memory_, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(end), '\0');
  const ssize_t got = pread(memory_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace shardwright::fuzz
