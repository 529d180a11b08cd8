#include "tests/fuzz/mutator/words.h"

#include <fstream>
#include <string_view>

namespace shardwright::fuzz {
namespace {

constexpr std::string_view kOption = "-dict=";

// Reads a dictionary with lines such as `"num_embeddings"`, without escapes and names of entries.
Words read_words(const std::string& path) {
  Words words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.size() < 2 || line.front() != '"' || line.back() != '"') continue;
    words.push_back(line.substr(1, line.size() - 2));
  }
  return words;
}

}  // namespace

Words words_of_arguments(int count, const char* const* arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument.starts_with(kOption)) {
      return read_words(std::string(argument.substr(kOption.size())));
    }
  }
  return {};
}

}  // namespace shardwright::fuzz
