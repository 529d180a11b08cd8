// Text for messages: shapes, byte counts, and names that are safe to print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shardwright {

// Returns the shape in brackets: "[2, 3]".
std::string extents_text(std::span<const std::int64_t> shape);

// Returns `bytes` rounded up to a whole number of a unit. The unit is the largest one of which
// `bytes` has at least eight: 8193 bytes are "9KiB". Precondition: bytes >= 0.
std::string size_of_at_least(std::int64_t bytes);

// The first code point of a UTF-8 text. `bytes` is its length.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = true;  // if false, `value` is the first byte, which begins no code point
};

// Precondition: `text` is not empty.
CodePoint first_code_point(std::string_view text);

// Removes the first code point from `text` and appends it to `out`. Escapes it if it is a control
// character, a line or paragraph separator, a bidirectional control (UAX #9), or not UTF-8. Escapes
// look as in JSON (`\n`, `\u001b`, `\u202e`); a byte that is not UTF-8 becomes `\xff`.
void append_printable(std::string& out, std::string_view& text);

// Applies append_printable() to the whole text. The result is one line. Allocates O(size).
std::string printable(std::string_view text);

}  // namespace shardwright
