// The kinds of files that commands read and write.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/io/json/json_shape.h"

namespace shardwright::commands {

struct FileKind {
  std::string_view name;         // such as "problem", "plan", "sweep"
  std::string_view title;        // title of the schema
  JsonShape (*shape)();          // its `help` says what the file is
  std::string_view sample = {};  // a commented file that can be read; empty = none

  // Returns the JSON Schema (draft 2020-12) with `title` and `description`.
  std::string schema() const;
};

// Returns all kinds in the order of listings. Names are distinct.
std::span<const FileKind> file_kinds();

}  // namespace shardwright::commands
