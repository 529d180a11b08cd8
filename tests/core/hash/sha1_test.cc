// SHA-1: the standard's test vectors, all lengths around a block, and messages given in pieces.
#include "core/hash/sha1.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace shardwright::sha1_test {

namespace {

using shardwright::Sha1;

std::string sha1(std::string_view message) {
  Sha1 digest;
  digest.update(message);
  return digest.hex();
}

}  // namespace

TEST_CASE("sha1: answers the standard's examples") {
  // Source: FIPS 180, appendix A, and the empty message.
  CHECK(sha1("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(sha1("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  CHECK(sha1(std::string(1'000'000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST_CASE("sha1: pads every length around a block") {
  // Source: Python's hashlib.
  CHECK(sha1(std::string(55, 'x')) == "cef734ba81a024479e09eb5a75b6ddae62e6abf1");
  CHECK(sha1(std::string(56, 'x')) == "901305367c259952f4e7af8323f480d59f81335b");
  CHECK(sha1(std::string(63, 'x')) == "0ddc4e0cccd9a12850deb5abb0853a4425559fec");
  CHECK(sha1(std::string(64, 'x')) == "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163");
  CHECK(sha1(std::string(65, 'x')) == "78c741ddc482e4cdf8c474a0876347a0905b6233");
  CHECK(sha1(std::string(119, 'x')) == "4300320394f7ee239bcdce7d3b8bcee173a0cd5c");
}

TEST_CASE("sha1: a message given in pieces has the same hash") {
  std::string message;
  for (int i = 0; i < 300; ++i)
    message += static_cast<char>('a' + i % 26);
  const std::string whole = sha1(message);
  for (std::size_t first = 0; first <= 130; ++first) {
    for (const std::size_t second : {first, first + 1, first + 64, first + 130}) {
      Sha1 digest;
      digest.update(std::string_view(message).substr(0, first));
      digest.update(std::string_view(message).substr(first, second - first));
      digest.update(std::string_view(message).substr(second));
      REQUIRE(digest.hex() == whole);
    }
  }
}

TEST_CASE("sha1: a copy continues from the state that was copied") {
  Sha1 digest;
  digest.update("ab");
  Sha1 copy = digest;
  CHECK(digest.hex() == sha1("ab"));
  copy.update("c");
  CHECK(copy.hex() == sha1("abc"));
}

TEST_CASE("sha1: gives as many digits as were asked for") {
  Sha1 digest;
  digest.update("abc");
  CHECK(digest.hex(16) == "a9993e364706816a");
}

}  // namespace shardwright::sha1_test
