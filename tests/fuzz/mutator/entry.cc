// The functions that libFuzzer calls to change inputs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "tests/fuzz/mutator/input_mutator.h"

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most_bytes);
int LLVMFuzzerInitialize(int* count, char*** arguments);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most_bytes,
                                    unsigned seed);
std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                      const std::uint8_t* second, std::size_t second_size,
                                      std::uint8_t* out, std::size_t most_bytes, unsigned seed);
}

namespace shardwright::fuzz {
namespace {

// One input in 12 is changed as bytes instead of documents, to test the tokenizer.
constexpr unsigned kBytesOneIn = 12;

Words& dictionary() {
  static Words words;
  return words;
}

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::size_t store(const std::string& text, std::uint8_t* out) {
  std::memcpy(out, text.data(), text.size());
  return text.size();
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerInitialize(int* count, char*** arguments) {
  shardwright::fuzz::dictionary() = shardwright::fuzz::words_of_arguments(*count, *arguments);
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most_bytes,
                                    unsigned seed) {
  using namespace shardwright::fuzz;
  if (seed % kBytesOneIn != 0) {
    const std::optional<std::string> changed =
        mutate_input(text_of(data, size), most_bytes, seed, dictionary());
    if (changed) return store(*changed, data);
  }
  return LLVMFuzzerMutate(data, size, most_bytes);
}

std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                      const std::uint8_t* second, std::size_t second_size,
                                      std::uint8_t* out, std::size_t most_bytes, unsigned seed) {
  using namespace shardwright::fuzz;
  const std::optional<std::string> crossed = cross_inputs(
      text_of(first, first_size), text_of(second, second_size), most_bytes, seed, dictionary());
  return crossed ? store(*crossed, out) : 0;
}
