// The one tokenizer: walks through JSON text value by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace shardwright {

// A number as the text has it. Whole numbers from -2^63 to 2^64 - 1 keep all their digits.
struct ScannedNumber {
  bool whole = false;         // written without point and exponent, and fits `integer`
  std::int64_t integer = 0;   // if whole
  std::uint64_t natural = 0;  // a whole number of 2^63 or more; otherwise 0
  double value = 0;           // always
};

// What the next value begins like.
enum class JsonToken : std::uint8_t { kObject, kArray, kString, kNumber, kTrue, kFalse, kNull, kNone };

// Reads strict RFC 8259 in one pass and builds nothing: JsonDocument builds a tree from it, and the
// readers of files with 10^8 bytes of numbers take the values as they come. A byte order mark at the
// beginning is skipped. After the first error every call does nothing and returns false; status()
// says what is wrong and where ("line L, column C").
// Thread safety: one thread at a time.
class JsonScanner {
 public:
  // `text` must outlive the scanner.
  explicit JsonScanner(std::string_view text);

  // Looks at the first byte of the next value. kNone: no value begins here.
  JsonToken peek();

  // Enters a list or object. Then next_element or next_key advances to the next value and returns
  // false behind the closing bracket or at an error.
  bool begin_array() { return expect('[', "a list"); }
  bool begin_object() { return expect('{', "an object"); }
  // `first` must be true in the first call for a list or object; the call clears it.
  bool next_element(bool& first);
  bool next_key(bool& first, std::string& key);

  bool read_number(ScannedNumber& number);
  bool read_string(std::string& text);
  // Reads the literal that peek() announced: true, false or null.
  bool read_literal(JsonToken literal);
  // Skips a null. Returns false without an error if another value follows.
  bool skip_null() { return peek() == JsonToken::kNull && read_literal(JsonToken::kNull); }
  // Succeeds if only white space follows.
  bool finish();

  const Status& status() const { return status_; }
  // Records the error unless there is one already. Returns false.
  bool fail(Error error);
  // Fails at the current position: "expected a value", say. Returns false.
  bool syntax_error(const std::string& message);

 private:
  bool expect(char bracket, const char* what);
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
};

}  // namespace shardwright
