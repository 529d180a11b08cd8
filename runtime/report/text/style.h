// Colours of a terminal, and text that cannot do more to it than be read.
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

// The text in a colour, or as it is where `colours` is false. A line break inside stays uncoloured.
std::string paint(std::string_view text, Ink ink, bool colours);

// A title on a line of its own, after an empty one.
std::string heading(std::string_view text, bool colours);

// The text without what would command a terminal: control characters but line breaks become "�",
// except where `colours` is true those that paint() writes. Whatever a table is called, it is text.
std::string printable(std::string_view text, bool colours);

// Bytes of the escape sequence that `text` begins with, as paint() writes them; 0 for none.
std::size_t paint_length(std::string_view text);

}  // namespace shardwright
