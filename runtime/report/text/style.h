// Colours for a terminal, and text that cannot command it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardwright {

enum class Ink : std::uint8_t {
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

// The text in a colour, or unchanged if `colours` is false. Line breaks stay uncoloured.
std::string paint(std::string_view text, Ink ink, bool colours);

// A title on its own line, after an empty line.
std::string heading(std::string_view text, bool colours);

// Escapes what could command a terminal in a whole report (core/text/printable.h). Keeps line
// breaks, and the colours of paint() if `colours` is true. Precondition: names have passed
// printable(name).
std::string printable(std::string_view text, bool colours);

// The text of a table's cell, on one line, with the colours of paint().
std::string printable_cell(std::string_view text);

// Length of the escape sequence of paint() at the beginning of `text`; 0 if there is none.
std::size_t paint_length(std::string_view text);

}  // namespace shardwright
