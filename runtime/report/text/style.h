// Colours for terminals, and escaping of text that could control a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardwright {

enum class TextStyle : std::uint8_t {
  kPlain,
  kHeading,
  kFaint,
  kGood,
  kFair,
  kBad,
  kFwdCompute,
  kFwdComms,
  kBwdCompute,
  kBwdComms,
  kPrefetch,
};

// Returns the text in a colour, or unchanged if `colours` is false. Line breaks stay uncoloured.
std::string paint(std::string_view text, TextStyle style, bool colours);

// Returns a title on its own line, after an empty line.
std::string heading(std::string_view text, bool colours);

// Escapes control sequences in a whole report (core/text/printable.h). Keeps line breaks, and
// paint()'s colours if `colours` is true. Precondition: names have passed printable(name).
std::string printable(std::string_view text, bool colours);

// Returns the text of a cell on one line. Keeps paint()'s colours.
std::string printable_cell(std::string_view text);

// Returns the length of paint()'s escape sequence at the beginning of `text`; 0 if there is none.
std::size_t paint_length(std::string_view text);

}  // namespace shardwright
