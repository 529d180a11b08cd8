// Numbers as bytes.
#include "search/message.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright::message_test {

namespace {

using namespace shardwright;

void put_some(MessageWriter& to) {
  to.put(std::uint32_t{7});
  to.put(0.5);
  to.put_text("seven");
  to.put_all(std::vector<std::uint16_t>{1, 2, 3});
  to.put_each(std::vector<int>{4, 5}, [&](int own) { to.put(own); });
  to.put_if(std::optional<double>());
  to.put_flag(true);
}

}  // namespace

TEST_CASE("message: a counter counts what a writer writes, and keeps none of it") {
  MessageWriter writer;
  MessageWriter counter = MessageWriter::counter();
  CHECK(counter.size() == 0);
  put_some(writer);
  put_some(counter);
  CHECK(counter.size() == writer.size());
  CHECK(counter.take().empty());
  CHECK(writer.size() == writer.take().size());
}

}  // namespace shardwright::message_test
