#include "core/hash/sha1.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace shardwright {
namespace {

// Performs twenty rounds, which have the same function and constant. `words` is a ring buffer of
// the last sixteen words of the message schedule.
template <unsigned First, class Function>
void twenty_rounds(std::array<std::uint32_t, 5>& s, std::array<std::uint32_t, 16>& words,
                   std::uint32_t constant, const Function& function) {
  for (unsigned t = First; t < First + 20; ++t) {
    std::uint32_t& word = words[t % 16];
    if (t >= 16) {
      word = std::rotl(words[(t + 13) % 16] ^ words[(t + 8) % 16] ^ words[(t + 2) % 16] ^ word, 1);
    }
    const std::uint32_t next =
        std::rotl(s[0], 5) + function(s[1], s[2], s[3]) + s[4] + constant + word;
    s = {next, s[0], std::rotl(s[1], 30), s[2], s[3]};
  }
}

}  // namespace

Sha1::Sha1() : MessageDigest({0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0}) {}

void Sha1::compress(const unsigned char* block) {
  std::array<std::uint32_t, 16> words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = big_endian(block + 4 * i);
  const auto choose = [](std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    return d ^ (b & (c ^ d));
  };
  const auto parity = [](std::uint32_t b, std::uint32_t c, std::uint32_t d) { return b ^ c ^ d; };
  const auto majority = [](std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    return (b & c) | (d & (b | c));
  };
  std::array<std::uint32_t, 5> s = state_;
  twenty_rounds<0>(s, words, 0x5A827999, choose);
  twenty_rounds<20>(s, words, 0x6ED9EBA1, parity);
  twenty_rounds<40>(s, words, 0x8F1BBCDC, majority);
  twenty_rounds<60>(s, words, 0xCA62C1D6, parity);
  for (std::size_t i = 0; i < s.size(); ++i)
    state_[i] += s[i];
}

}  // namespace shardwright
