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

// Replaces control characters other than line breaks by "�", so that no name can command a
// terminal. Keeps the colours of paint() if `colours` is true.
std::string printable(std::string_view text, bool colours);

// Length of the escape sequence of paint() at the beginning of `text`; 0 if there is none.
std::size_t paint_length(std::string_view text);

}  // namespace shardwright
