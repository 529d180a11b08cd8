// Skips comments: members of objects whose key begins with "//". Their values are checked like any
// other JSON.
#include <cstddef>
#include <string>

#include "runtime/io/json/json_scanner.h"

namespace shardwright {

bool JsonScanner::skip_comment() {
  std::string text;
  ScannedNumber number;
  const JsonToken token = peek();
  switch (token) {
    case JsonToken::kObject:
      return begin_object() && skip_members(true);
    case JsonToken::kArray:
      return begin_array() && skip_members(false);
    case JsonToken::kString:
      return read_string(text);
    case JsonToken::kNumber:
      return read_number(number);
    case JsonToken::kNull:
    case JsonToken::kTrue:
    case JsonToken::kFalse:
      return read_literal(token);
    case JsonToken::kNone:
      break;
  }
  return no_value();
}

bool JsonScanner::skip_members(bool object) {
  constexpr std::size_t kMaxDepth = 64;
  if (++comment_depth_ > kMaxDepth) {
    return syntax_error("a comment is nested more than " + std::to_string(kMaxDepth) +
                        " levels deep");
  }
  std::string key;
  for (bool first = true; object ? next_key(first, key) : next_element(first);) {
    if (!skip_comment()) return false;
  }
  --comment_depth_;
  return status_.ok();
}

}  // namespace shardwright
