// Walks through JSON text value by value, for files of millions of numbers whose form is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace shardwright {

// A number as it stands in the text: whole numbers up to 2^63 - 1 are exact.
struct ScannedNumber {
  bool whole = false;
  std::int64_t integer = 0;  // where whole
  double value = 0;          // always
};

// Strict RFC 8259, one pass, no document. Every call after the first error does nothing and returns
// false; status() says what and where ("line L, column C").
// Thread safety: one thread at a time.
class JsonScanner {
 public:
  // `text` must outlive the scanner.
  explicit JsonScanner(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  // Enters a list or object; then next_element or next_key goes on until it returns false, behind
  // the closing bracket or at an error.
  bool begin_array() { return expect('[', "a list"); }
  bool begin_object() { return expect('{', "an object"); }
  // `first` is true at the first call for this list and is cleared.
  bool next_element(bool& first);
  bool next_key(bool& first, std::string& key);

  bool read_number(ScannedNumber& number);
  bool read_string(std::string& text);
  // null instead of the value that was expected.
  bool skip_null();
  // Nothing but space follows.
  bool finish();

  const Status& status() const { return status_; }
  // Makes this the error, unless there is one. Returns false.
  bool fail(Error error);

 private:
  bool expect(char bracket, const char* what);
  void skip_space();
  bool syntax_error(const std::string& message);
  bool read_escape(std::string& text);
  bool read_code_unit(std::uint32_t& unit);
  bool read_slow_number(ScannedNumber& number);

  const char* begin_;
  const char* at_;
  const char* end_;
  Status status_;
};

}  // namespace shardwright
