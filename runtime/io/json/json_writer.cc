#include "runtime/io/json/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace shardwright {
namespace {

constexpr std::size_t kFull = std::size_t{1} << 18;

template <class Number>
void append_number(std::string& text, Number number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// Writes a number at `end`, where ten digits must fit, and returns the position after it. Most
// numbers are small ranks, so numbers below 10,000 come from a table.
char* put_number(char* end, std::uint32_t number) {
  constexpr std::uint32_t kLookedUp = 10'000;
  static const auto kDigits = [] {
    std::array<std::array<char, 4>, kLookedUp> digits{};
    for (std::uint32_t i = 0; i < kLookedUp; ++i)
      std::to_chars(digits[i].data(), digits[i].data() + 4, i);
    return digits;
  }();
  if (number >= kLookedUp) return std::to_chars(end, end + 10, number).ptr;
  std::memcpy(end, kDigits[number].data(), 4);
  return end + 1 + (number > 9 ? 1 : 0) + (number > 99 ? 1 : 0) + (number > 999 ? 1 : 0);
}

bool is_escaped(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

void append_escaped(std::string& text, std::string_view raw) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text += '"';
  while (!raw.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::find_if(raw.begin(), raw.end(), is_escaped) - raw.begin());
    text.append(raw.substr(0, plain));
    if (plain == raw.size()) break;
    const char c = raw[plain];
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else {
      text += "\\u00";
      text += kHex[static_cast<unsigned char>(c) >> 4];
      text += kHex[static_cast<unsigned char>(c) & 15];
    }
    raw.remove_prefix(plain + 1);
  }
  text += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_elements_.empty()) return;
  if (has_elements_.back()) text_ += ',';
  if (line_break_) text_ += '\n';
  line_break_ = false;
  has_elements_.back() = true;
}

void JsonWriter::flush_if_full() {
  if (text_.size() < kFull) return;
  sink_(text_);
  text_.clear();
}

JsonWriter& JsonWriter::new_line() {
  line_break_ = true;
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  has_elements_.push_back(false);
  line_break_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  if (line_break_ && has_elements_.back()) text_ += '\n';
  line_break_ = false;
  has_elements_.pop_back();
  text_ += bracket;
  flush_if_full();
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_escaped(text_, name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_escaped(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  separate();
  text_ += json_number(number);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  separate();
  text_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  separate();
  append_number(text_, number);
  flush_if_full();
  return *this;
}

JsonWriter& JsonWriter::natural(std::uint64_t number) {
  separate();
  append_number(text_, number);
  flush_if_full();
  return *this;
}

JsonWriter& JsonWriter::numbers(std::span<const std::uint32_t> numbers) {
  constexpr std::ptrdiff_t kLongest = 11;  // ten digits and a comma
  separate();
  std::array<char, 4096> piece;
  char* end = piece.data();
  *end++ = '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (piece.data() + piece.size() - end < kLongest) {
      text_.append(piece.data(), end);
      flush_if_full();
      end = piece.data();
    }
    if (i > 0) *end++ = ',';
    end = put_number(end, numbers[i]);
  }
  text_.append(piece.data(), end);
  text_ += ']';
  flush_if_full();
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

void JsonWriter::finish() {
  text_ += '\n';
  sink_(text_);
  text_.clear();
}

}  // namespace shardwright
