#include "runtime/report/text/style.h"

#include <algorithm>
#include <array>

namespace shardwright {
namespace {

constexpr std::string_view kReset = "\x1b[0m";

// By Ink. The parts of time have the nearest of 256 colours to those of the HTML page.
constexpr std::array<std::string_view, 11> kInks{"",
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

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// U+0080 to U+009F are control characters that some terminals obey.
bool is_high_control(std::string_view text) {
  return text.size() >= 2 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0;
}

}  // namespace

std::string paint(std::string_view text, Ink ink, bool colours) {
  if (!colours || ink == Ink::kPlain || text.empty()) return std::string(text);
  const bool broken = text.back() == '\n';
  if (broken) text.remove_suffix(1);
  return std::string(kInks[static_cast<std::size_t>(ink)]) + std::string(text) +
         std::string(kReset) + (broken ? "\n" : "");
}

std::string heading(std::string_view text, bool colours) {
  return "\n" + paint(text, Ink::kHeading, colours) + "\n";
}

std::size_t paint_length(std::string_view text) {
  if (!text.starts_with('\x1b')) return 0;
  if (text.starts_with(kReset)) return kReset.size();
  const auto found = std::find_if(kInks.begin(), kInks.end(), [&](std::string_view ink) {
    return !ink.empty() && text.starts_with(ink);
  });
  return found == kInks.end() ? 0 : found->size();
}

std::string printable(std::string_view text, bool colours) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t own = colours ? paint_length(text) : 0;
    const std::size_t high = is_high_control(text) ? 2 : 1;
    const bool hostile = own == 0 && (high == 2 || (is_control(text[0]) && text[0] != '\n'));
    const std::size_t taken = std::max(own, high);
    out += hostile ? kReplacement : text.substr(0, taken);
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace shardwright
