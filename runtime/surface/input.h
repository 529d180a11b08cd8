// A document that a request names.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"

namespace shardwright::commands {

// Reads a whole file, such as read_file().
using FileReader = std::function<Result<std::string>(const std::string& path)>;

// A file, a text that the caller has, or nothing.
// Thread safety: a value.
class Input {
 public:
  Input() = default;
  // "-" is standard input. An empty path is no input.
  static Input file(std::string path);
  // `place` stands before the places of errors: "/problem".
  static Input text(std::string text, std::string place);

  bool given() const { return !name_.empty(); }
  bool is_text() const { return given() && path_.empty(); }
  // The path, "standard input", or the place.
  const std::string& name() const { return name_; }

  // Errors: those of the reader.
  Result<std::string> read(const FileReader& reader) const;
  // Puts the name of this input before the place of the error, unless the place is a member of the
  // request.
  Error locate(Error error) const;

 private:
  std::string name_;
  std::string path_;  // empty = the text is here
  std::string text_;
};

}  // namespace shardwright::commands
