// Bytes as base64.
#include "core/text/base64.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

namespace shardwright::base64_test {

namespace {

using namespace shardwright;

}  // namespace

// Source: RFC 4648, section 10.
TEST_CASE("base64: the standard's own examples") {
  CHECK(to_base64("").empty());
  CHECK(to_base64("f") == "Zg==");
  CHECK(to_base64("fo") == "Zm8=");
  CHECK(to_base64("foo") == "Zm9v");
  CHECK(to_base64("foob") == "Zm9vYg==");
  CHECK(to_base64("fooba") == "Zm9vYmE=");
  CHECK(to_base64("foobar") == "Zm9vYmFy");
}

TEST_CASE("base64: all bytes are read as they were written, in any length") {
  std::string bytes;
  for (std::size_t length = 0; length < 300; ++length) {
    CHECK(from_base64(to_base64(bytes)) == bytes);
    bytes += static_cast<char>(length * 37);
  }
}

TEST_CASE("base64: another text is refused") {
  for (const char* const text : {"Z", "Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm9v\n", "Zm 9",
                                 "Zm9v=", "=m9v", "Zg==Zg==", "Zm-v"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(from_base64(text).has_value());
  }
}

}  // namespace shardwright::base64_test
