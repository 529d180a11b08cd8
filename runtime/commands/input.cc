#include "runtime/commands/input.h"

#include <utility>

namespace shardwright::commands {

Input Input::file(std::string path) {
  Input input;
  input.name_ = path == "-" ? "standard input" : path;
  input.path_ = std::move(path);
  return input;
}

Input Input::text(std::string text, std::string place) {
  Input input;
  input.name_ = std::move(place);
  input.text_ = std::move(text);
  return input;
}

Result<std::string> Input::read(const FileReader& reader) const {
  if (path_.empty()) return text_;
  return reader(path_);
}

Error Input::locate(Error error) const {
  if (error.where.starts_with("--")) return error;
  const bool continues = path_.empty() && error.where.starts_with('/');
  error.where = error.where.empty() ? name_ : name_ + (continues ? "" : ": ") + error.where;
  return error;
}

}  // namespace shardwright::commands
