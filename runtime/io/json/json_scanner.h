// The JSON tokenizer: reads a text value by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace shardwright {

// A number. Integers from -2^63 to 2^64 - 1 are exact.
struct ScannedNumber {
  bool whole = false;         // has no point or exponent, and fits int64
  std::int64_t integer = 0;   // the value, if `whole`
  std::uint64_t natural = 0;  // an integer from 2^63 to 2^64 - 1, else 0
  double value = 0;           // the value as a double; always set
};

// The type of the next value, judged by its first byte.
enum class JsonToken : std::uint8_t {
  kObject,
  kArray,
  kString,
  kNumber,
  kTrue,
  kFalse,
  kNull,
  kNone
};

// Reads RFC 8259 strictly in one pass and stores nothing. JsonDocument builds its tree with it;
// readers of files with 10^8 bytes of numbers use it directly. Skips a leading byte order mark, and
// comments, which are members whose key begins with "//". After the first error, every call does
// nothing and returns false, and status() returns the error at "line L, column C".
// Thread safety: one thread at a time.
class JsonScanner {
 public:
  // `text` must outlive the scanner.
  explicit JsonScanner(std::string_view text);

  // Returns the type of the next value without reading it; kNone if no value begins here.
  JsonToken peek();

  // Enter a list or an object. Then call next_element or next_key before each value.
  bool begin_array() { return expect('[', "a list"); }
  bool begin_object() { return expect('{', "an object"); }
  // Return false after the closing bracket or on an error. In the first call `first` must be true;
  // the call sets it to false. next_key skips comments.
  bool next_element(bool& first);
  bool next_key(bool& first, std::string& key);

  bool read_number(ScannedNumber& number);
  bool read_string(std::string& text);
  // Reads the literal that peek() returned: true, false or null.
  bool read_literal(JsonToken literal);
  // Skips a null. If another value follows, returns false without an error.
  bool skip_null() { return peek() == JsonToken::kNull && read_literal(JsonToken::kNull); }
  // Reads any value and returns its text, without checking what is inside its brackets.
  bool read_raw(std::string_view& raw);
  // Returns true if only white space is left.
  bool finish();

  const Status& status() const { return status_; }
  // Stores the error unless there already is one. Returns false.
  bool fail(Error error);
  // Stores an error such as "expected a value" at the current position. Returns false.
  bool syntax_error(const std::string& message);
  // Stores why no value can begin here and what was probably meant. Returns false.
  bool no_value();

 private:
  std::string remedy() const;
  bool expect(char bracket, const char* what);
  bool skip_container();
  bool skip_comment();
  bool skip_members(bool object);
  void skip_space();
  bool read_multibyte(std::string& text);
  bool read_escape(std::string& text);
  bool read_code_unit(std::uint32_t& unit);
  bool read_slow_number(ScannedNumber& number);
  bool convert(const char* end, bool whole, ScannedNumber& number);

  const char* begin_;
  const char* at_;
  const char* end_;
  Status status_;
  std::size_t comment_depth_ = 0;  // open brackets within a comment
};

}  // namespace shardwright
