// SHA-256: the standard's test vectors, all lengths around a block, and messages given in pieces.
#include "core/hash/sha256.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace shardwright::sha256_test {

namespace {

using shardwright::Sha256;

std::string sha256(std::string_view message) {
  Sha256 digest;
  digest.update(message);
  return digest.hex();
}

}  // namespace

TEST_CASE("sha256: answers the standard's examples") {
  // Source: FIPS 180, appendix B, and the empty message.
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: pads every length around a block") {
  // Source: Python's hashlib.
  CHECK(sha256(std::string(55, 'x')) ==
        "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  CHECK(sha256(std::string(56, 'x')) ==
        "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  CHECK(sha256(std::string(63, 'x')) ==
        "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  CHECK(sha256(std::string(64, 'x')) ==
        "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  CHECK(sha256(std::string(65, 'x')) ==
        "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9");
  CHECK(sha256(std::string(119, 'x')) ==
        "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c");
}

TEST_CASE("sha256: a message given in pieces has the same hash") {
  std::string message;
  for (int i = 0; i < 300; ++i)
    message += static_cast<char>('a' + i % 26);
  const std::string whole = sha256(message);
  for (std::size_t first = 0; first <= 130; ++first) {
    for (const std::size_t second : {first, first + 1, first + 64, first + 130}) {
      Sha256 digest;
      digest.update(std::string_view(message).substr(0, first));
      digest.update(std::string_view(message).substr(first, second - first));
      digest.update(std::string_view(message).substr(second));
      REQUIRE(digest.hex() == whole);
    }
  }
}

TEST_CASE("sha256: gives as many digits as were asked for") {
  Sha256 digest;
  digest.update("abc");
  CHECK(digest.hex(16) == "ba7816bf8f01cfea");
}

}  // namespace shardwright::sha256_test
