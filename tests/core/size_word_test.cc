#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "core/text/printable.h"

namespace shardwright::size_word_test {

TEST_CASE(
    "size of at least: a whole number of the largest unit that rounds up by an eighth at most") {
  CHECK(size_of_at_least(0) == "0B");
  CHECK(size_of_at_least(896) == "896B");
  CHECK(size_of_at_least(8191) == "8191B");
  CHECK(size_of_at_least(8192) == "8KiB");
  CHECK(size_of_at_least(8193) == "9KiB");
  CHECK(size_of_at_least(14336) == "14KiB");
  CHECK(size_of_at_least((std::int64_t{8} << 20) + 1) == "9MiB");
  CHECK(size_of_at_least(INT64_MAX) == "8388608TiB");
}

}  // namespace shardwright::size_word_test
