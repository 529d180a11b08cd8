// Text that cannot command a terminal, break a line or pretend to be other text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardwright {

// The first code point of a text in UTF-8.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = true;  // false: the first byte is part of no code point, and is the value
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
