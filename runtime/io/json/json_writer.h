// Writes JSON text directly, without a document in between.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/text_sink.h"

namespace shardwright {

// A forward-only writer: keys in the order given, doubles in the shortest form that reads back as
// the same double, one line per element where the caller asks for it. Precondition: begin and end
// calls nest, and every value inside an object follows a key.
// Cost: amortised O(bytes); text is handed on in pieces of about 256 KiB.
// Thread safety: one thread at a time.
class JsonWriter {
 public:
  explicit JsonWriter(TextSink sink) : sink_(std::move(sink)) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  // not finite: null
  JsonWriter& value(bool flag);
  JsonWriter& null();
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) JsonWriter& value(Integer number) {
    if constexpr (std::signed_integral<Integer>) {
      return integer(static_cast<std::int64_t>(number));
    } else {
      return natural(static_cast<std::uint64_t>(number));
    }
  }
  template <class T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }

  // A value that is JSON text already.
  JsonWriter& raw(std::string_view json);

  // The next element or key starts on a new line.
  JsonWriter& new_line();

  // Hands on what is left, with a final line break.
  void finish();

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& integer(std::int64_t number);
  JsonWriter& natural(std::uint64_t number);
  void separate();
  void flush_if_full();

  TextSink sink_;
  std::string text_;
  std::vector<bool> has_elements_;  // by depth
  bool after_key_ = false;
  bool line_break_ = false;
};

}  // namespace shardwright
