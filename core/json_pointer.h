// JSON pointers, with which errors name places in the input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardwright {

// Escapes a key for use in a JSON pointer. Source: RFC 6901, section 3.
inline std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

// Returns the pointer of an entry of a top-level list: "/list/index".
inline std::string entry_place(std::string_view list, std::size_t index) {
  return "/" + std::string(list) + "/" + std::to_string(index);
}

}  // namespace shardwright
