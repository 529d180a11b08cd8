#include "runtime/report/text/style.h"

#include <algorithm>
#include <array>

#include "core/text/printable.h"

namespace shardwright {
namespace {

constexpr std::string_view kReset = "\x1b[0m";

// Index: TextStyle. Parts of time have, of the 256 colours, those nearest to the HTML page's.
constexpr std::array<std::string_view, 11> kEscapes{"",
                                                    "\x1b[1m",
                                                    "\x1b[2m",
                                                    "\x1b[32m",
                                                    "\x1b[33m",
                                                    "\x1b[31m",
                                                    "\x1b[38;5;32m",
                                                    "\x1b[38;5;117m",
                                                    "\x1b[38;5;166m",
                                                    "\x1b[38;5;215m",
                                                    "\x1b[38;5;36m"};

}  // namespace

std::string paint(std::string_view text, TextStyle style, bool colours) {
  if (!colours || style == TextStyle::kPlain || text.empty()) return std::string(text);
  const bool broken = text.back() == '\n';
  if (broken) text.remove_suffix(1);
  return std::string(kEscapes[static_cast<std::size_t>(style)]) + std::string(text) +
         std::string(kReset) + (broken ? "\n" : "");
}

std::string heading(std::string_view text, bool colours) {
  return "\n" + paint(text, TextStyle::kHeading, colours) + "\n";
}

std::size_t paint_length(std::string_view text) {
  if (!text.starts_with('\x1b')) return 0;
  if (text.starts_with(kReset)) return kReset.size();
  const auto found = std::find_if(kEscapes.begin(), kEscapes.end(), [&](std::string_view escape) {
    return !escape.empty() && text.starts_with(escape);
  });
  return found == kEscapes.end() ? 0 : found->size();
}

std::string printable(std::string_view text, bool colours) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t own = text[0] == '\n' ? 1 : colours ? paint_length(text) : 0;
    out += text.substr(0, own);
    text.remove_prefix(own);
    if (own == 0) append_printable(out, text);
  }
  return out;
}

std::string printable_cell(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t own = paint_length(text);
    out += text.substr(0, own);
    text.remove_prefix(own);
    if (own == 0) append_printable(out, text);
  }
  return out;
}

}  // namespace shardwright
