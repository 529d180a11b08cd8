// SHA-256, for the identities of problems and plans. Not for security.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardwright {

// Digest of the bytes given so far. Does not allocate until hex() is called.
// Source: FIPS 180-4, section 6.2.
// Thread safety: a value.
class Sha256 {
 public:
  void update(std::string_view bytes);

  // Ends the message; only a copy taken before may be continued. O(1).
  std::array<std::uint8_t, 32> finish();

  // The first `digits` (at most 64) hexadecimal digits of finish().
  std::string hex(std::size_t digits = 64);

 private:
  void compress(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::uint64_t length_ = 0;  // bytes
};

}  // namespace shardwright
