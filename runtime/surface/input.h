// A document that a request refers to.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"

namespace shardwright::commands {

// Reads a whole file, as read_file() does.
using FileReader = std::function<Result<std::string>(const std::string& path)>;

// A file, a text in memory, or nothing.
// Thread safety: a value.
class Input {
 public:
  Input() = default;
  // "-" is standard input. An empty path gives no input.
  static Input file(std::string path);
  // `place` precedes the places of errors, such as "/problem".
  static Input text(std::string text, std::string place);

  bool given() const { return !name_.empty(); }
  bool is_text() const { return given() && path_.empty(); }
  // Returns the path, "standard input", or the place.
  const std::string& name() const { return name_; }

  // Returns the text. Errors: as `reader`.
  Result<std::string> read(const FileReader& reader) const;
  // Puts this input's name before the error's place, unless the place is a member of the request.
  Error locate(Error error) const;

 private:
  std::string name_;
  std::string path_;  // empty if `text_` has the document
  std::string text_;
};

}  // namespace shardwright::commands
