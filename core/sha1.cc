#include "core/sha1.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardwright {
namespace {

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

// Twenty rounds with one function and one constant; `words` is a ring of the last sixteen words of
// the message schedule.
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

void Sha1::update(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  const std::size_t held = length_ % pending_.size();
  length_ += left;
  if (held > 0) {
    const std::size_t taken = std::min(left, pending_.size() - held);
    std::memcpy(pending_.data() + held, data, taken);
    if (held + taken < pending_.size()) return;
    compress(pending_.data());
    data += taken;
    left -= taken;
  }
  for (; left >= pending_.size(); left -= pending_.size(), data += pending_.size())
    compress(data);
  std::memcpy(pending_.data(), data, left);
}

std::array<std::uint8_t, 20> Sha1::finish() {
  const std::uint64_t bits = length_ * 8;
  std::array<char, 72> padding{};
  padding[0] = static_cast<char>(0x80);
  const std::size_t zeros_end = 64 - (length_ + 8) % 64;  // 1..64, the 0x80 included
  for (std::size_t i = 0; i < 8; ++i) {
    padding[zeros_end + i] = static_cast<char>(bits >> (56 - 8 * i) & 0xff);
  }
  update(std::string_view(padding.data(), zeros_end + 8));
  std::array<std::uint8_t, 20> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
  }
  return digest;
}

std::string Sha1::hex(std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : finish()) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  text.resize(std::min(digits, text.size()));
  return text;
}

}  // namespace shardwright
