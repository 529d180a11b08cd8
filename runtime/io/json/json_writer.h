// Writes JSON text.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stop_reason.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// Returns the shortest text that reads back as the same double; "null" if it is not finite. Appends
// ".0" to whole numbers, since some readers distinguish integers from doubles.
inline std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> digits;
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Writes keys in the order of the calls, and doubles in the shortest form that reads back as the
// same double. Breaks lines only at new_line(). The sink gets pieces of about 256 KiB. O(bytes),
// amortised. Precondition: begin and end calls nest; a key precedes every value in an object.
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
  JsonWriter& value(double number);  // writes null if not finite
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

  // Writes an array, several times as fast as one call per number.
  JsonWriter& numbers(std::span<const std::uint32_t> numbers);

  // Writes a value that is already JSON text.
  JsonWriter& raw(std::string_view json);

  // Begins a new line before the next element or key.
  JsonWriter& new_line();

  // Writes a final line break and passes all text to the sink.
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
  std::vector<bool> has_elements_;  // index: depth
  bool after_key_ = false;
  bool line_break_ = false;
};

// Writes null for kFinished, else the name of the reason.
inline void write_stop(StopReason reason, JsonWriter& json) {
  reason == StopReason::kFinished ? json.null() : json.value(name_of(reason));
}

}  // namespace shardwright
