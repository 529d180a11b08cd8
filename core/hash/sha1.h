// SHA-1, and a base class for SHA-1 and SHA-256 that does blocks, padding and output of the digest.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace shardwright {

// Reads a 32-bit word, most significant byte first.
inline std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

// A digest of `Words` 32-bit words over all bytes given to update(). `Function::compress(block)`
// mixes a block of 64 bytes into `state_`. Only hex() allocates.
// Source: FIPS 180-4, section 5.
// Thread safety: a value.
template <class Function, std::size_t Words>
class MessageDigest {
 public:
  static constexpr std::size_t kBytes = 4 * Words;

  void update(std::string_view bytes) {
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

  // Ends the message and returns the digest. The object must not be used afterwards. O(1).
  std::array<std::uint8_t, kBytes> finish() {
    const std::uint64_t bits = length_ * 8;
    std::array<char, 72> padding{};
    padding[0] = static_cast<char>(0x80);
    const std::size_t zeros_end = 64 - (length_ + 8) % 64;  // with the byte 0x80: 1 to 64
    for (std::size_t i = 0; i < 8; ++i) {
      padding[zeros_end + i] = static_cast<char>(bits >> (56 - 8 * i) & 0xff);
    }
    update(std::string_view(padding.data(), zeros_end + 8));
    std::array<std::uint8_t, kBytes> digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) {
      digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
    }
    return digest;
  }

  // Calls finish() and returns the first `digits` hexadecimal digits, two per byte.
  std::string hex(std::size_t digits = 2 * kBytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : finish()) {
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
    text.resize(std::min(digits, text.size()));
    return text;
  }

 protected:
  explicit MessageDigest(const std::array<std::uint32_t, Words>& state) : state_(state) {}

  std::array<std::uint32_t, Words> state_;

 private:
  void compress(const unsigned char* block) { static_cast<Function*>(this)->compress(block); }

  std::array<unsigned char, 64> pending_{};
  std::uint64_t length_ = 0;  // bytes
};

// Source: FIPS 180-4, section 6.1.
// Thread safety: a value.
class Sha1 : public MessageDigest<Sha1, 5> {
 public:
  Sha1();

 private:
  friend class MessageDigest<Sha1, 5>;
  void compress(const unsigned char* block);
};

}  // namespace shardwright
