// shardwright schema
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "runtime/commands/files/file_kinds.h"
#include "runtime/commands/files/files_commands.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright::commands {
namespace {

// `description` of a schema.
std::string description_of(const FileKind& kind) {
  const JsonDocument schema = JsonDocument::parse(kind.schema).value();
  return std::string(schema.root().find("description")->string().value());
}

void write_list(const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().new_line().key("kinds").begin_array();
  for (const FileKind& kind : file_kinds()) {
    json.new_line()
        .begin_object()
        .member("kind", kind.name)
        .member("description", description_of(kind))
        .member("has_sample", !kind.sample.empty())
        .end_object();
  }
  json.new_line().end_array().new_line().end_object().finish();
}

std::string list_text() {
  std::size_t width = 0;
  for (const FileKind& kind : file_kinds())
    width = std::max(width, kind.name.size());
  std::string text;
  for (const FileKind& kind : file_kinds()) {
    const std::string description = description_of(kind);
    text += std::string(kind.name) + std::string(width + 2 - kind.name.size(), ' ') +
            description.substr(0, description.find(". ")) + "\n";
  }
  return text;
}

Answer list_answer() {
  Answer answer;
  answer.write_json = &write_list;
  answer.text = [](const TextForm&) { return list_text(); };
  return answer;
}

}  // namespace

Result<Answer> answer(const SchemaRequest& request, const Watch&) {
  if (!request.kind) return list_answer();
  std::vector<std::string_view> names;
  for (const FileKind& kind : file_kinds()) {
    names.push_back(kind.name);
    if (kind.name != *request.kind) continue;
    Answer answer;
    answer.write_json = [schema = kind.schema](const TextSink& sink) { sink(schema); };
    answer.text = [schema = kind.schema](const TextForm&) { return std::string(schema); };
    answer.summary = "the JSON Schema of a " + std::string(kind.name) + " file";
    return answer;
  }
  return invalid_input(
      "KIND", "unknown kind of file \"" + *request.kind + "\"" + suggestion(*request.kind, names));
}

}  // namespace shardwright::commands
