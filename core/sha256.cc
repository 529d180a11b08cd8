#include "core/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardwright {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

// The message schedule of one block.
std::array<std::uint32_t, 64> schedule(const unsigned char* block) {
  std::array<std::uint32_t, 64> words;
  for (std::size_t t = 0; t < 16; ++t)
    words[t] = big_endian(block + 4 * t);
  for (std::size_t t = 16; t < words.size(); ++t) {
    const std::uint32_t near = words[t - 2];
    const std::uint32_t far = words[t - 15];
    words[t] = (std::rotr(near, 17) ^ std::rotr(near, 19) ^ near >> 10) + words[t - 7] +
               (std::rotr(far, 7) ^ std::rotr(far, 18) ^ far >> 3) + words[t - 16];
  }
  return words;
}

}  // namespace

void Sha256::compress(const unsigned char* block) {
  const std::array<std::uint32_t, 64> words = schedule(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < words.size(); ++t) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                (g ^ (e & (f ^ g))) + kRounds[t] + words[t];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i)
    state_[i] += mixed[i];
}

void Sha256::update(std::string_view bytes) {
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

std::array<std::uint8_t, 32> Sha256::finish() {
  const std::uint64_t bits = length_ * 8;
  std::array<char, 72> padding{};
  padding[0] = static_cast<char>(0x80);
  const std::size_t zeros_end = 64 - (length_ + 8) % 64;  // 1..64, the 0x80 included
  for (std::size_t i = 0; i < 8; ++i) {
    padding[zeros_end + i] = static_cast<char>(bits >> (56 - 8 * i) & 0xff);
  }
  update(std::string_view(padding.data(), zeros_end + 8));
  std::array<std::uint8_t, 32> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
  }
  return digest;
}

std::string Sha256::hex(std::size_t digits) {
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
