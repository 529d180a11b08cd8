// The JSON tokenizer, with a fast path for lists of integers.

#include "runtime/io/json/json_scanner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

bool is_between(char c, unsigned first, unsigned last) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= first && byte <= last;
}

// Returns true for ASCII characters that need no escape inside a string.
bool is_plain(char c) { return is_between(c, 0x20, 0x7F) && c != '"' && c != '\\'; }

// Returns the length of the well-formed UTF-8 sequence of two to four bytes at the start of
// `bytes`, or 0 if there is none. Source: The Unicode Standard, table 3-7.
std::size_t multibyte_length(std::string_view bytes) {
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

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

constexpr std::size_t kShownWord = 40;
constexpr std::string_view kCommentKey = "//";
// Python's literals, and JSON's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOtherWords{
    {{"None", "null"}, {"True", "true"}, {"False", "false"}}};

constexpr std::string_view text_of(JsonToken literal) {
  if (literal == JsonToken::kNull) return "null";
  return literal == JsonToken::kTrue ? "true" : "false";
}

}  // namespace

JsonScanner::JsonScanner(std::string_view text)
    : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
}

JsonToken JsonScanner::peek() {
  if (!status_.ok()) return JsonToken::kNone;
  skip_space();
  if (at_ == end_) return JsonToken::kNone;
  switch (*at_) {
    case '{':
      return JsonToken::kObject;
    case '[':
      return JsonToken::kArray;
    case '"':
      return JsonToken::kString;
    case 't':
      return JsonToken::kTrue;
    case 'f':
      return JsonToken::kFalse;
    case 'n':
      return JsonToken::kNull;
    default:
      return *at_ == '-' || is_digit(*at_) ? JsonToken::kNumber : JsonToken::kNone;
  }
}

bool JsonScanner::read_literal(JsonToken literal) {
  if (!status_.ok()) return false;
  const std::string_view text = text_of(literal);
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(text)) {
    return no_value();
  }
  at_ += text.size();
  return true;
}

bool JsonScanner::no_value() {
  const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
  const std::string_view word =
      rest.substr(0, std::min(rest.find_first_of(" \t\r\n,:;[]{}\""), kShownWord));
  if (!remedy().empty()) return syntax_error("expected a value");
  if (!word.empty() && std::all_of(begin_, at_, [](char c) { return c <= ' '; }))
    return syntax_error("expected '{' (other formats, such as YAML, have to be rewritten as JSON)");
  const std::string_view number = word.substr(word.starts_with('-') ? 1 : 0);
  for (const std::string_view none : {"NaN", "nan", "Infinity", "inf"}) {
    if (number == none) return syntax_error("JSON has no " + std::string(number));
  }
  for (const auto& [other, own] : kOtherWords) {
    if (word == other)
      return syntax_error("write " + std::string(own) + " for " + std::string(other));
  }
  return syntax_error(word.empty() ? "expected a value"
                                   : "a text needs quotes: \"" + std::string(word) + "\"");
}

void JsonScanner::skip_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r'))
    ++at_;
}

bool JsonScanner::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
  return false;
}

// Returns a hint what a text that is no JSON probably means; empty if unknown.
std::string JsonScanner::remedy() const {
  const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
  if (rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#'))
    return "; JSON has no comments, but a member of an object whose key begins with // is one";
  if (rest.starts_with('\'')) return "; JSON has double quotes only";
  if (rest.empty() || at_ == begin_) return "";
  if (at_[-1] == ',' && is_digit(*at_)) return "; a number has no commas";
  const bool letter = *at_ == '_' || is_between(*at_, 'a', 'z') || is_between(*at_, 'A', 'Z');
  return is_digit(at_[-1]) && letter ? "; write a number in digits only, such as 40000" : "";
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
                    "not valid JSON: " + message + ", found " + found + remedy()));
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
  if (at_ != end_ && *at_ == ']')
    return syntax_error("expected a value after ','; take the comma away");
  return true;
}

bool JsonScanner::next_key(bool& first, std::string& key) {
  for (;;) {
    if (!status_.ok()) return false;
    skip_space();
    if (at_ != end_ && *at_ == '}') {
      ++at_;
      return false;
    }
    if (!std::exchange(first, false)) {
      if (at_ == end_ || *at_ != ',') return syntax_error("expected ',' or '}'");
      ++at_;
      skip_space();
      if (at_ != end_ && *at_ == '}')
        return syntax_error("expected a key after ','; take the comma away");
    }
    if (!read_string(key) || !expect(':', "':' after a key")) return false;
    if (!key.starts_with(kCommentKey)) return true;
    if (!skip_comment()) return false;
  }
}

bool JsonScanner::read_number(ScannedNumber& number) {
  if (!status_.ok()) return false;
  skip_space();
  // 18 digits cannot overflow. Other numbers take the slow path.
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
  number = {true, integer, 0, static_cast<double>(integer)};
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
  return convert(at, whole, number);
}

bool JsonScanner::convert(const char* end, bool whole, ScannedNumber& number) {
  number = {};
  if (std::from_chars(at_, end, number.value).ec != std::errc{}) {
    // from_chars also rejects numbers that are too small; these are read as subnormal or 0.
    number.value = std::strtod(std::string(at_, end).c_str(), nullptr);
    if (std::isinf(number.value)) return syntax_error("the number is out of range");
  }
  if (whole) {
    number.whole = std::from_chars(at_, end, number.integer).ec == std::errc{};
    if (!number.whole && *at_ != '-') std::from_chars(at_, end, number.natural);
  }
  at_ = end;
  return true;
}

bool JsonScanner::read_string(std::string& text) {
  text.clear();
  if (!expect('"', "a text in quotes")) return false;
  for (;;) {
    const char* const plain = at_;
    while (at_ != end_ && is_plain(*at_))
      ++at_;
    text.append(plain, at_);
    if (at_ == end_) return syntax_error("the text has no end");
    if (*at_ == '"') {
      ++at_;
      return true;
    }
    if (*at_ == '\\') {
      ++at_;
      if (!read_escape(text)) return false;
    } else if (!read_multibyte(text)) {
      return false;
    }
  }
}

bool JsonScanner::read_multibyte(std::string& text) {
  if (is_between(*at_, 0, 0x1F)) return syntax_error("a control byte in a text");
  const std::size_t length =
      multibyte_length(std::string_view(at_, static_cast<std::size_t>(end_ - at_)));
  if (length == 0) return syntax_error("a text is no UTF-8");
  text.append(at_, length);
  at_ += length;
  return true;
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

bool JsonScanner::skip_container() {
  std::string text;
  std::size_t depth = 0;
  do {
    if (at_ == end_) return syntax_error("the list or object has no end");
    const char c = *at_;
    if (c == '"') {
      if (!read_string(text)) return false;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at_;
  } while (depth > 0);
  return true;
}

bool JsonScanner::read_raw(std::string_view& raw) {
  const JsonToken token = peek();
  const char* const begin = at_;
  std::string text;
  ScannedNumber number;
  switch (token) {
    case JsonToken::kObject:
    case JsonToken::kArray:
      if (!skip_container()) return false;
      break;
    case JsonToken::kString:
      if (!read_string(text)) return false;
      break;
    case JsonToken::kNumber:
      if (!read_number(number)) return false;
      break;
    case JsonToken::kTrue:
    case JsonToken::kFalse:
    case JsonToken::kNull:
      if (!read_literal(token)) return false;
      break;
    case JsonToken::kNone:
      return syntax_error("expected a value");
  }
  raw = {begin, static_cast<std::size_t>(at_ - begin)};
  return true;
}

bool JsonScanner::finish() {
  if (!status_.ok()) return false;
  skip_space();
  return at_ == end_ || syntax_error("expected the end of the text");
}

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
