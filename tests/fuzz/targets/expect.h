// Constants and functions that every target uses.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace shardwright::fuzz {

// Return values of LLVMFuzzerTestOneInput. libFuzzer never keeps a rejected input.
inline constexpr int kDone = 0;
inline constexpr int kRejected = -1;

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A copy of the standard error, which libFuzzer may close.
inline const int kMessages = dup(STDERR_FILENO);

// Aborts if a promise is broken; libFuzzer then saves the input.
inline void expect(bool holds, const std::string& promise) {
  if (holds) return;
  const std::string line = "broken promise: " + promise + "\n";
  [[maybe_unused]] const ssize_t written = write(kMessages, line.data(), line.size());
  std::abort();
}

// Returns true if the values differ only as sums in another order may.
inline bool close(double a, double b) {
  constexpr double kRelative = 1e-9;
  const double difference = a > b ? a - b : b - a;
  const double size = (a < 0 ? -a : a) + (b < 0 ? -b : b);
  return a == b || difference <= kRelative * size;
}

// Calls `write` with a sink and returns what it wrote.
template <class Write>
std::string written_by(const Write& write) {
  std::string text;
  write([&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace shardwright::fuzz
