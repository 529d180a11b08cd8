// A JSON tokenizer whose fast path is lists of whole numbers.
#include "runtime/io/json/json_scanner.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace shardwright {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
    return put(0x80 | (code & 0x3F));
  }
  if (code < 0x10000) {
    put(0xE0 | code >> 12);
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
  }
  put(0x80 | (code >> 6 & 0x3F));
  put(0x80 | (code & 0x3F));
}

}  // namespace

void JsonScanner::skip_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r'))
    ++at_;
}

bool JsonScanner::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
  return false;
}

bool JsonScanner::syntax_error(const std::string& message) {
  if (!status_.ok()) return false;
  const std::string_view before(begin_, static_cast<std::size_t>(at_ - begin_));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_break = before.rfind('\n');
  const std::size_t column =
      before.size() - (line_break == std::string_view::npos ? 0 : line_break + 1) + 1;
  std::string found = "the end of the text";
  if (at_ != end_) found = *at_ > ' ' && *at_ < 127 ? std::string("'") + *at_ + "'" : "a byte";
  return fail(
      invalid_input("line " + std::to_string(lines + 1) + ", column " + std::to_string(column),
                    "not valid here: " + message + ", found " + found));
}

bool JsonScanner::expect(char bracket, const char* what) {
  if (!status_.ok()) return false;
  skip_space();
  if (at_ == end_ || *at_ != bracket) return syntax_error(std::string("expected ") + what);
  ++at_;
  return true;
}

bool JsonScanner::next_element(bool& first) {
  if (!status_.ok()) return false;
  skip_space();
  if (at_ != end_ && *at_ == ']') {
    ++at_;
    return false;
  }
  if (std::exchange(first, false)) return true;
  if (at_ == end_ || *at_ != ',') return syntax_error("expected ',' or ']'");
  ++at_;
  skip_space();
  if (at_ != end_ && *at_ == ']') return syntax_error("expected a value after ','");
  return true;
}

bool JsonScanner::next_key(bool& first, std::string& key) {
  if (!status_.ok()) return false;
  skip_space();
  if (at_ != end_ && *at_ == '}') {
    ++at_;
    return false;
  }
  if (!std::exchange(first, false)) {
    if (at_ == end_ || *at_ != ',') return syntax_error("expected ',' or '}'");
    ++at_;
  }
  return read_string(key) && expect(':', "':' after a key");
}

bool JsonScanner::read_number(ScannedNumber& number) {
  if (!status_.ok()) return false;
  skip_space();
  // Up to 18 digits cannot overflow; what is not a plain whole number takes the general path.
  constexpr std::ptrdiff_t kSafeDigits = 18;
  const char* at = at_;
  std::int64_t integer = 0;
  while (at != end_ && is_digit(*at) && at - at_ < kSafeDigits)
    integer = integer * 10 + (*at++ - '0');
  const std::ptrdiff_t digits = at - at_;
  const bool plain = digits > 0 && digits <= kSafeDigits && (*at_ != '0' || digits == 1) &&
                     (at == end_ || (*at != '.' && *at != 'e' && *at != 'E' && !is_digit(*at)));
  if (!plain) return read_slow_number(number);
  at_ = at;
  number = {true, integer, static_cast<double>(integer)};
  return true;
}

bool JsonScanner::read_slow_number(ScannedNumber& number) {
  const char* at = at_;
  const auto digits = [&] {
    const char* const from = at;
    while (at != end_ && is_digit(*at))
      ++at;
    return at != from;
  };
  if (at != end_ && *at == '-') ++at;
  const char* const first_digit = at;
  if (!digits()) return syntax_error("expected a number");
  if (*first_digit == '0' && at - first_digit > 1) return syntax_error("a number begins with 0");
  bool whole = true;
  if (at != end_ && *at == '.') {
    ++at;
    whole = false;
    if (!digits()) return syntax_error("expected digits after the point");
  }
  if (at != end_ && (*at == 'e' || *at == 'E')) {
    ++at;
    whole = false;
    if (at != end_ && (*at == '+' || *at == '-')) ++at;
    if (!digits()) return syntax_error("expected digits of an exponent");
  }
  number = {};
  const auto converted = std::from_chars(at_, at, number.value);
  if (converted.ec != std::errc{}) return syntax_error("the number is out of range");
  number.whole = whole && std::from_chars(at_, at, number.integer).ec == std::errc{};
  at_ = at;
  return true;
}

bool JsonScanner::read_string(std::string& text) {
  text.clear();
  if (!expect('"', "a text in quotes")) return false;
  for (;;) {
    if (at_ == end_) return syntax_error("the text has no end");
    const char c = *at_;
    if (static_cast<unsigned char>(c) < 0x20) return syntax_error("a control byte in a text");
    ++at_;
    if (c == '"') return true;
    if (c != '\\') {
      text += c;
    } else if (!read_escape(text)) {
      return false;
    }
  }
}

bool JsonScanner::read_escape(std::string& text) {
  if (at_ == end_) return syntax_error("the text has no end");
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
  const char name = *at_;
  if (const auto index = kNames.find(name); index != std::string_view::npos) {
    ++at_;
    text += kBytes[index];
    return true;
  }
  if (name != 'u') return syntax_error("an unknown escape");
  ++at_;
  std::uint32_t code = 0;
  if (!read_code_unit(code)) return false;
  if (code >= 0xD800 && code < 0xDC00) {
    std::uint32_t low = 0;
    if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') return syntax_error("half a character");
    at_ += 2;
    if (!read_code_unit(low)) return false;
    if (low < 0xDC00 || low >= 0xE000) return syntax_error("half a character");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code < 0xE000) {
    return syntax_error("half a character");
  }
  append_utf8(text, code);
  return true;
}

bool JsonScanner::read_code_unit(std::uint32_t& unit) {
  constexpr std::ptrdiff_t kDigits = 4;
  if (end_ - at_ < kDigits) return syntax_error("expected four hexadecimal digits");
  const auto converted = std::from_chars(at_, at_ + kDigits, unit, 16);
  if (converted.ptr != at_ + kDigits) return syntax_error("expected four hexadecimal digits");
  at_ += kDigits;
  return true;
}

bool JsonScanner::skip_null() {
  if (!status_.ok()) return false;
  skip_space();
  constexpr std::string_view kNull = "null";
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(kNull)) return false;
  at_ += kNull.size();
  return true;
}

bool JsonScanner::finish() {
  if (!status_.ok()) return false;
  skip_space();
  return at_ == end_ || syntax_error("expected the end of the text");
}

}  // namespace shardwright
