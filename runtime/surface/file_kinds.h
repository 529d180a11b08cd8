// The kinds of files that commands read and write.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/io/json/json_shape.h"

namespace shardwright::commands {

struct FileKind {
  std::string_view name;         // "problem", "plan", "sweep"
  std::string_view title;        // of the schema
  JsonShape (*shape)();          // with `help`, which says what the file is
  std::string_view sample = {};  // a commented file of this kind that can be read; empty = none

  // A JSON Schema of draft 2020-12, with `title` and `description`.
  std::string schema() const;
};

// All kinds, in the order in which they are listed. Names are distinct.
std::span<const FileKind> file_kinds();

}  // namespace shardwright::commands
