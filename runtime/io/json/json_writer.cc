#include "runtime/io/json/json_writer.h"

#include <array>
#include <charconv>

#include "runtime/io/json/json_number.h"

namespace shardwright {
namespace {

constexpr std::size_t kFull = std::size_t{1} << 18;

template <class Number>
void append_number(std::string& text, Number number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

void append_escaped(std::string& text, std::string_view raw) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text += '"';
  for (const char c : raw) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += "\\u00";
      text += kHex[static_cast<unsigned char>(c) >> 4];
      text += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      text += c;
    }
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
