// Where in a problem file a value stands, for errors.
#pragma once

#include <string>
#include <string_view>

namespace shardwright::embedding {

// One step of a JSON pointer. Source: RFC 6901, section 3.
inline std::string pointer_step(std::string_view key) {
  std::string step;
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

inline std::string constraints_place(std::string_view table) {
  return "/constraints/" + pointer_step(table);
}

}  // namespace shardwright::embedding
