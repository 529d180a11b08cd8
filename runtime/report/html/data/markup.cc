#include "runtime/report/html/data/markup.h"

namespace shardwright {

TextSink without_markup(const TextSink& sink) {
  return [&sink](std::string_view text) {
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text) {
      if (c == '<') {
        safe += "\\u003c";
      } else {
        safe += c;
      }
    }
    sink(safe);
  };
}

std::string escaped_markup(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace shardwright
