// The JSON tokenizer. Reads a text value by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace shardwright {

// A number of the text. Integers from -2^63 to 2^64 - 1 are exact.
struct ScannedNumber {
  bool whole = false;         // written without point and exponent, and within int64
  std::int64_t integer = 0;   // the value, if `whole`
  std::uint64_t natural = 0;  // the value of an integer from 2^63 to 2^64 - 1; otherwise 0
  double value = 0;           // the value as a double; always set
};

// The type of the next value, as its first byte shows.
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

// Reads strict RFC 8259 in one pass and stores no values. JsonDocument builds a tree from it;
// readers of files with 10^8 bytes of numbers use it directly. Skips a leading byte order mark, and
// comments: members of objects whose key begins with "//".
// After the first error, every call does nothing and returns false; status() returns the error with
// its place ("line L, column C").
// Thread safety: one thread at a time.
class JsonScanner {
 public:
  // `text` must outlive the scanner.
  explicit JsonScanner(std::string_view text);

  // Returns the type of the next value without reading it, or kNone if no value begins here.
  JsonToken peek();

  // Enters a list or object. Then call next_element or next_key before each value. They return
  // false after the closing bracket and on an error.
  bool begin_array() { return expect('[', "a list"); }
  bool begin_object() { return expect('{', "an object"); }
  // `first` must be true in the first call for a list or object. That call sets it to false.
  // next_key checks and skips comments.
  bool next_element(bool& first);
  bool next_key(bool& first, std::string& key);

  bool read_number(ScannedNumber& number);
  bool read_string(std::string& text);
  // Reads the literal that peek() announced: true, false or null.
  bool read_literal(JsonToken literal);
  // Skips a null. Returns false without an error if another value follows.
  bool skip_null() { return peek() == JsonToken::kNull && read_literal(JsonToken::kNull); }
  // Reads a value of any type and returns its text. Does not check what is between its brackets.
  bool read_raw(std::string_view& raw);
  // Succeeds if only white space follows.
  bool finish();

  const Status& status() const { return status_; }
  // Records the error unless there is one already. Returns false.
  bool fail(Error error);
  // Records an error such as "expected a value" at the current position. Returns false.
  bool syntax_error(const std::string& message);
  // Records why no value can begin here, and what was probably meant. Returns false.
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
  std::size_t comment_depth_ = 0;  // open lists and objects of a comment
};

}  // namespace shardwright
