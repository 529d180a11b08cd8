// Arrays of numbers as base64, which programs write and read faster than lists.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

static_assert(std::endian::native == std::endian::little, "packed numbers are little-endian");

inline constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Returns the numbers' bytes as base64 with padding. O(bytes).
template <class T>
std::string packed(const std::vector<T>& numbers) {
  const std::size_t size = numbers.size() * sizeof(T);
  std::vector<unsigned char> bytes(size + 2, 0);
  if (size > 0) std::memcpy(bytes.data(), numbers.data(), size);
  std::string text;
  text.reserve((size + 2) / 3 * 4);
  for (std::size_t i = 0; i < size; i += 3) {
    const std::uint32_t word = bytes[i] * 65536U + bytes[i + 1] * 256U + bytes[i + 2];
    for (const unsigned shift : {18U, 12U, 6U, 0U})
      text += kBase64[word >> shift & 63U];
  }
  const std::size_t padding = (3 - size % 3) % 3;
  text.replace(text.size() - padding, padding, std::string(padding, '='));
  return text;
}

// Returns the numbers, or nullopt for a text that is no base64 of whole numbers of type T.
// O(bytes).
template <class T>
std::optional<std::vector<T>> unpacked(std::string_view text) {
  static constexpr auto kDigits = [] {
    std::array<std::uint8_t, 256> digits{};
    digits.fill(64);
    for (std::size_t i = 0; i < kBase64.size(); ++i)
      digits[static_cast<unsigned char>(kBase64[i])] = static_cast<std::uint8_t>(i);
    return digits;
  }();
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
    ++padding;
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t size = text.size() / 4 * 3 - padding;
  if (size % sizeof(T) != 0) return std::nullopt;
  std::vector<unsigned char> bytes;
  bytes.reserve(size + 2);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t word = 0;
    for (std::size_t j = i; j < i + 4; ++j) {
      const std::uint32_t digit =
          j >= text.size() - padding ? 0 : kDigits[static_cast<unsigned char>(text[j])];
      if (digit == 64) return std::nullopt;
      word = word << 6U | digit;
    }
    for (const unsigned shift : {16U, 8U, 0U})
      bytes.push_back(static_cast<unsigned char>(word >> shift & 255U));
  }
  std::vector<T> numbers(size / sizeof(T));
  if (size > 0) std::memcpy(numbers.data(), bytes.data(), size);
  return numbers;
}

}  // namespace shardwright
