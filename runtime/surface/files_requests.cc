// shardwright schema

#include "runtime/surface/files_requests.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/surface/command.h"
#include "runtime/surface/file_kinds.h"

namespace shardwright::commands {
namespace {

// Returns the `description` of the kind's schema.
std::string description_of(const FileKind& kind) {
  const JsonDocument schema = JsonDocument::parse(kind.schema()).value();
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

constexpr std::string_view kRequests = "requests";

// Writes the members of all requests, for tests and the reference page.
void write_requests(const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().new_line().key("commands").begin_array();
  for (const Command& command : commands()) {
    json.new_line().begin_object().member("command", command.name).member("help", command.help);
    json.member("example", command.example).key("members").begin_array();
    const std::unique_ptr<AnyRequest> request = command.make();
    for (const Field& field : request->fields.all()) {
      json.new_line()
          .begin_object()
          .member("name", field.name)
          .member("flag", field.flag())
          .member("value", field.value)
          .member("required", field.required)
          .member("is_list", field.is_list)
          .member("is_document", field.document != nullptr)
          .member("default", field.preset)
          .member("help", field.help)
          .end_object();
    }
    json.end_array().end_object();
  }
  json.new_line().end_array().new_line().end_object().finish();
}

// Returns "problem|plan|...", which shell completion offers.
std::string kind_names(bool with_sample) {
  std::string names;
  for (const FileKind& kind : file_kinds()) {
    if (with_sample && kind.sample.empty()) continue;
    names += (names.empty() ? "" : "|") + std::string(kind.name);
  }
  return names + (with_sample ? "" : "|" + std::string(kRequests));
}

}  // namespace

void describe(SchemaRequest& request, Fields& fields) {
  fields.text("kind", request.kind, kind_names(false), "Kind of file (default: list all kinds)")
      .as("KIND");
}

void describe(InitRequest& request, Fields& fields) {
  fields.text("kind", request.kind, kind_names(true), "Kind of file (default: problem)").as("KIND");
}

void describe(ReportRequest& request, Fields& fields) {
  fields.document("answer", request.answer, "ANSWER", "What a command wrote with -o (- = stdin)")
      .needed();
}

Result<Answer> answer(const SchemaRequest& request, const Watch&) {
  if (!request.kind) return list_answer();
  if (*request.kind == kRequests) {
    Answer answer;
    answer.write_json = &write_requests;
    answer.text = [](const TextForm&) {
      std::string text;
      write_requests([&](std::string_view piece) { text += piece; });
      return text;
    };
    answer.summary = "what every command can be asked";
    return answer;
  }
  std::vector<std::string_view> names;
  for (const FileKind& kind : file_kinds()) {
    names.push_back(kind.name);
    if (kind.name != *request.kind) continue;
    Answer answer;
    answer.write_json = [schema = kind.schema()](const TextSink& sink) { sink(schema); };
    answer.text = [schema = kind.schema()](const TextForm&) { return schema; };
    answer.summary = "the JSON Schema of a " + std::string(kind.name) + " file";
    return answer;
  }
  return invalid_input(
      "kind", "unknown kind of file \"" + *request.kind + "\"" + suggestion(*request.kind, names));
}

Result<Answer> answer(const InitRequest& request, const Watch&) {
  std::vector<std::string_view> names;
  for (const FileKind& kind : file_kinds()) {
    if (kind.sample.empty()) continue;
    names.push_back(kind.name);
    if (kind.name != request.kind) continue;
    Answer answer;
    answer.write_json = [text = kind.sample](const TextSink& sink) { sink(text); };
    answer.text = [text = kind.sample](const TextForm&) { return std::string(text); };
    answer.summary = "a commented " + std::string(kind.name) + " file; change it to yours";
    return answer;
  }
  return invalid_input("kind", "no file of the kind \"" + request.kind + "\" can be begun with" +
                                   suggestion(request.kind, names));
}

}  // namespace shardwright::commands
