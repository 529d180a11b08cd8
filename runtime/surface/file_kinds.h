// The kinds of files that commands read and write.
#pragma once

#include <span>
#include <string_view>

namespace shardwright::commands {

struct FileKind {
  std::string_view name;    // "problem", "plan", "sweep"
  std::string_view schema;  // a JSON Schema of draft 2020-12, with `title` and `description`
  std::string_view sample;  // a commented file of this kind that can be read; empty = none
};

// All kinds. Names are distinct. schemas/ and templates/ hold the texts; tests/python/test_files.py
// compares the schemas with what the readers accept.
std::span<const FileKind> file_kinds();

}  // namespace shardwright::commands
