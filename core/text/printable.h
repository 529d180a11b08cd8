// Text for messages: shapes, byte counts, and names that are safe to print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shardwright {

// "[2, 3]".
std::string extents_text(std::span<const std::int64_t> shape);

// `bytes` rounded up to a whole number of the largest unit that gives eight or more: 8193 bytes are
// "9KiB". Precondition: bytes >= 0.
std::string size_of_at_least(std::int64_t bytes);

// The first code point of a text in UTF-8.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = true;  // false: the first byte is part of no code point; `value` is the byte
};

// Precondition: `text` is not empty.
CodePoint first_code_point(std::string_view text);

// Moves the first code point of `text` to the end of `out`, escaped if it is a control character, a
// line or paragraph separator, a bidirectional control (UAX #9), or not UTF-8. Escapes look as in
// JSON (`\n`, `\u001b`, `\u202e`); a byte that is not UTF-8 looks like `\xff`.
void append_printable(std::string& out, std::string_view& text);

// The whole text on one line. Allocates O(size).
std::string printable(std::string_view text);

}  // namespace shardwright
