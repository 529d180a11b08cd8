// Numbers as JSON writes them.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace shardwright {

// The shortest text that reads back as the same double, with ".0" where it would look like an
// integer: readers who tell the two apart then see the same type every time. "null" where not
// finite.
inline std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> digits;
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace shardwright
