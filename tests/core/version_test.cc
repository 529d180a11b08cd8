// The version in the headers equals the version in the library.
#include "core/version.h"

#include <doctest/doctest.h>

#include <string>

namespace shardwright::version_test {

TEST_CASE("version: headers and library agree") {
  CHECK(shardwright::library_version() == SHARDWRIGHT_VERSION_STRING);
}

TEST_CASE("version: the text consists of the numbers") {
  const std::string text = std::to_string(SHARDWRIGHT_VERSION_MAJOR) + "." +
                           std::to_string(SHARDWRIGHT_VERSION_MINOR) + "." +
                           std::to_string(SHARDWRIGHT_VERSION_PATCH);
  CHECK(text == SHARDWRIGHT_VERSION_STRING);
}

}  // namespace shardwright::version_test
