#include "runtime/report/text/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "core/text/printable.h"
#include "runtime/report/text/column_ranges.h"
#include "runtime/report/text/style.h"

namespace shardwright {
namespace {

std::string fixed(double value, int decimals) {
  std::array<char, 400> digits;
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                            std::chars_format::fixed, decimals)
                  .ptr;
  return std::string(digits.data(), end);
}

// Returns `digits` significant digits without an exponent.
std::string significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return "0";
  const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fixed(value, std::clamp(digits - before_point, 0, 12));
}

template <std::size_t kCount>
bool holds(const std::array<CodePointRange, kCount>& ranges, char32_t c) {
  const auto* const after = std::upper_bound(
      ranges.begin(), ranges.end(), c,
      [](char32_t value, const CodePointRange& range) { return value < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

std::size_t columns_of(char32_t c) {
  if (c < kZeroWidth.front().first) return 1;
  if (holds(kZeroWidth, c)) return 0;
  return holds(kWide, c) ? 2 : 1;
}

// A unit of text: a code point, or the escape sequence of a colour, which takes no column.
struct Printed {
  std::size_t bytes, columns;
  bool colour;
};

Printed first_printed(std::string_view text) {
  if (const std::size_t colour = paint_length(text); colour != 0) return {colour, 0, true};
  const CodePoint c = first_code_point(text);
  return {c.bytes, c.valid ? columns_of(c.value) : 1, false};
}

}  // namespace

std::string format_bytes(Bytes bytes) {
  if (bytes.value() == 0) return "0";
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes.value());
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const std::string number = unit == 0 ? std::to_string(bytes.value()) : significant(value, 3);
  return number + " " + std::string(kUnits[unit]);
}

std::string format_ms(double milliseconds) {
  constexpr double kGrouped = 1e4;
  if (milliseconds >= kGrouped && milliseconds < 1e15) {
    return format_count(static_cast<std::uint64_t>(std::llround(milliseconds)));
  }
  return significant(milliseconds, 4);
}

std::string format_seconds(double seconds) {
  return seconds < 1 ? significant(seconds * 1000, 3) + " ms" : significant(seconds, 3) + " s";
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

std::string format_cost(double cost) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.12g", cost);
  std::string text = buffer.data();
  std::size_t end = text.find_first_not_of("0123456789");
  if (end == std::string::npos) end = text.size();
  const bool exponent = text.find('e') != std::string::npos;
  for (std::size_t at = end; !exponent && at > 3; at -= 3)
    text.insert(at - 3, at - 3 > 0 ? "," : "");
  return text;
}

std::string format_share(double part, double whole) {
  if (!(whole > 0)) return "-";
  const double percent = 100 * part / whole;
  return fixed(percent, percent > 0 && percent < 9.95 ? 1 : 0) + "%";
}

std::string format_plural(std::uint64_t count, std::string_view noun) {
  return format_count(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string format_ranges(std::span<const std::uint32_t> sorted, std::size_t max_width) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1)
      ++last;
    std::string range = std::to_string(sorted[i]);
    if (last > i) range.append("-").append(std::to_string(sorted[last]));
    const std::string rest = "… (" + std::to_string(sorted.size()) + ")";
    const bool more = last + 1 < sorted.size();
    const std::size_t room = more ? display_width(rest) + 1 : 0;
    if (!text.empty() && text.size() + 1 + range.size() + room > max_width)
      return text.append(",").append(rest);
    if (!text.empty()) text += ',';
    text += range;
    i = last + 1;
  }
  return text;
}

std::string format_bar(double part, double whole, std::size_t width) {
  const double share = whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0.0;
  const auto filled = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  return "[" + std::string(filled, '#') + std::string(width - filled, '-') + "]";
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Printed next = first_printed(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string kept;
  std::string colours;  // last colour in the cut part, which ends the colour
  bool full = false;
  for (std::size_t columns = 0; !text.empty();) {
    const Printed next = first_printed(text);
    full = full || columns + next.columns > width - 1;
    if (!full) {
      kept += text.substr(0, next.bytes);
    } else if (next.colour) {
      colours = text.substr(0, next.bytes);
    }
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return kept + "…" + colours;
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  const std::size_t room = width > indent + 20 ? width - indent : 20;
  std::string out, line;
  const auto end_line = [&] {
    out += std::string(line.empty() ? 0 : indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && display_width(line) + 1 + display_width(word) > room) end_line();
    if (!word.empty()) line += (line.empty() ? "" : " ") + std::string(word);
    if (end < text.size() && text[end] == '\n') end_line();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!line.empty()) end_line();
  return out;
}

}  // namespace shardwright
