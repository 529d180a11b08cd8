// SHA-1, for the fingerprints that plans are compared by. Not for security.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardwright {

// Digest of the bytes given so far. Does not allocate until hex() is called.
// Source: FIPS 180-4, section 6.1.
// Thread safety: a value.
class Sha1 {
 public:
  void update(std::string_view bytes);

  // Ends the message; only a copy taken before may be continued. O(1).
  std::array<std::uint8_t, 20> finish();

  // The first `digits` (at most 40) hexadecimal digits of finish().
  std::string hex(std::size_t digits = 40);

 private:
  void compress(const unsigned char* block);

  std::array<std::uint32_t, 5> state_{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  std::array<unsigned char, 64> pending_{};
  std::uint64_t length_ = 0;  // bytes
};

}  // namespace shardwright
