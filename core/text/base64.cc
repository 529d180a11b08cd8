#include "core/text/base64.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace shardwright {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char kPadding = '=';
constexpr std::size_t kBytes = 3;  // are as many letters as follow
constexpr std::size_t kQuartet = 4;
constexpr unsigned kLetterBits = 6;
constexpr unsigned kByteBits = 8;
constexpr std::uint32_t kLetterMask = (1U << kLetterBits) - 1;
constexpr std::uint32_t kByteMask = (1U << kByteBits) - 1;
constexpr std::uint8_t kNoLetter = 0xff;

std::array<std::uint8_t, kByteMask + 1> values_of_letters() {
  std::array<std::uint8_t, kByteMask + 1> values{};
  values.fill(kNoLetter);
  for (std::size_t i = 0; i < kLetters.size(); ++i)
    values[static_cast<unsigned char>(kLetters[i])] = static_cast<std::uint8_t>(i);
  return values;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + kBytes - 1) / kBytes * kQuartet);
  for (std::size_t i = 0; i < bytes.size(); i += kBytes) {
    const std::size_t count = std::min(kBytes, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < kBytes; ++k)
      group = group << kByteBits | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < kQuartet; ++k) {
      const std::size_t shift = kLetterBits * (kQuartet - 1 - k);
      text += k <= count ? kLetters[group >> shift & kLetterMask] : kPadding;
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  static const std::array<std::uint8_t, kByteMask + 1> kValues = values_of_letters();
  if (text.size() % kQuartet != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / kQuartet * kBytes);
  for (std::size_t i = 0; i < text.size(); i += kQuartet) {
    std::size_t letters = kQuartet;
    while (i + kQuartet == text.size() && letters > 2 && text[i + letters - 1] == kPadding)
      --letters;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < kQuartet; ++k) {
      const std::uint8_t value =
          k < letters ? kValues[static_cast<unsigned char>(text[i + k])] : std::uint8_t{0};
      if (value == kNoLetter) return std::nullopt;
      group = group << kLetterBits | value;
    }
    for (std::size_t k = 0; k + 1 < letters; ++k)
      bytes += static_cast<char>(group >> (kByteBits * (kBytes - 1 - k)) & kByteMask);
  }
  // Bits that no byte has are zero, so that a text stands for one row of bytes only.
  return to_base64(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace shardwright
