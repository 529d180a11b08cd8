#include "runtime/surface/input.h"

#include <algorithm>
#include <utility>

namespace shardwright::commands {
namespace {

// Returns true for a member such as "time_limit". Places in documents have a slash or a space.
bool is_member(const std::string& where) {
  return !where.empty() && std::all_of(where.begin(), where.end(),
                                       [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace

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
  if (is_member(error.where)) return error;
  const bool continues = path_.empty() && error.where.starts_with('/');
  error.where = error.where.empty() ? name_ : name_ + (continues ? "" : ": ") + error.where;
  return error;
}

}  // namespace shardwright::commands
