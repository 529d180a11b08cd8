#include "core/text/printable.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardwright {

std::string extents_text(std::span<const std::int64_t> shape) {
  std::string joined;
  for (const std::int64_t extent : shape)
    joined += (joined.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + joined + "]";
}

std::string size_of_at_least(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr std::int64_t kStep = 1024;
  constexpr std::int64_t kFewest = 8;  // rounding up adds at most an eighth
  std::size_t unit = 0;
  std::int64_t size = 1;
  while (unit + 1 < kUnits.size() && bytes / size >= kFewest * kStep) {
    size *= kStep;
    ++unit;
  }
  const std::int64_t count = bytes / size + (bytes % size > 0 ? 1 : 0);
  return std::to_string(count) + std::string(kUnits[unit]);
}

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// A UTF-8 sequence: bits of its lead byte, length, and least code point that it may encode.
struct Lead {
  std::uint8_t mask, mark, payload;
  std::size_t bytes;
  char32_t least;
};
constexpr std::array<Lead, 3> kLeads{
    {{0xe0, 0xc0, 0x1f, 2, 0x80}, {0xf0, 0xe0, 0x0f, 3, 0x800}, {0xf8, 0xf0, 0x07, 4, 0x10000}}};

constexpr bool is_surrogate(char32_t c) { return c >= 0xd800 && c <= 0xdfff; }

// Control characters, bidirectional controls, line and paragraph separators.
// Source: Unicode 15 (Bidi_Control, deprecated format characters, Zl, Zp).
constexpr bool is_hostile(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x206f);
}

void append_hex(std::string& out, char32_t value, unsigned digits) {
  constexpr unsigned kBitsPerDigit = 4;
  for (unsigned left = digits; left > 0; --left)
    out += kHexDigits[(value >> (kBitsPerDigit * (left - 1))) & 0xf];
}

void append_escape(std::string& out, char32_t c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u";
      append_hex(out, c, 4);
  }
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const CodePoint alone{byte(0), 1, false};
  if (byte(0) < 0x80) return {byte(0), 1, true};
  for (const Lead& lead : kLeads) {
    if ((byte(0) & lead.mask) != lead.mark) continue;
    if (text.size() < lead.bytes) return alone;
    char32_t value = byte(0) & lead.payload;
    for (std::size_t i = 1; i < lead.bytes; ++i) {
      if ((byte(i) & 0xc0U) != 0x80U) return alone;
      value = (value << 6) | (byte(i) & 0x3fU);
    }
    const bool valid = value >= lead.least && value <= 0x10ffff && !is_surrogate(value);
    return valid ? CodePoint{value, lead.bytes, true} : alone;
  }
  return alone;
}

void append_printable(std::string& out, std::string_view& text) {
  const CodePoint c = first_code_point(text);
  if (!c.valid) {
    out += "\\x";
    append_hex(out, c.value, 2);
  } else if (is_hostile(c.value)) {
    append_escape(out, c.value);
  } else {
    out += text.substr(0, c.bytes);
  }
  text.remove_prefix(c.bytes);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty())
    append_printable(out, text);
  return out;
}

}  // namespace shardwright
