// Messages between processes: numbers are written as bytes and read back.
#include "runtime/execution/processes/message.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright::message_test {

using namespace shardwright;

TEST_CASE("message: a reader reads what was written, and nothing past the end") {
  MessageWriter to;
  to.put(std::uint32_t{7});
  to.put(0.5);
  to.put_text("seven");
  to.put_all(std::vector<std::uint16_t>{1, 2, 3});
  to.put_each(std::vector<int>{4, 5}, [&](int own) { to.put(own); });
  to.put_if(std::optional<double>());
  to.put_flag(true);
  const std::string bytes = to.take();
  const auto read = [](MessageReader& from) {
    CHECK(from.get<std::uint32_t>() == 7);
    CHECK(from.get<double>() == 0.5);
    CHECK(from.get_text() == "seven");
    CHECK(from.get_all<std::uint16_t>() == std::vector<std::uint16_t>{1, 2, 3});
    CHECK(from.get_each<int>([&] { return from.get<int>(); }) == std::vector<int>{4, 5});
    CHECK_FALSE(from.get_if<double>().has_value());
  };
  MessageReader from(bytes);
  read(from);
  CHECK_FALSE(from.is_complete());
  CHECK(from.get_flag());
  CHECK(from.is_complete());
  MessageReader cut(std::string_view(bytes).substr(0, bytes.size() - 1));
  read(cut);
  CHECK(cut.is_complete());
  CHECK_FALSE(cut.get_flag());
  CHECK_FALSE(cut.good());
}

}  // namespace shardwright::message_test
