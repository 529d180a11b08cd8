// Formats numbers for JSON.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace shardwright {

// Returns the shortest text that reads back as the same double, or "null" if it is not finite.
// Appends ".0" if the text would look like an integer: some readers distinguish the two types, and
// a value must not change its type from file to file.
inline std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> digits;
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace shardwright
