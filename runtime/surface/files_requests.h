// Requests and answers of the commands that are about files.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/fields.h"
#include "runtime/surface/input.h"

namespace shardwright::commands {

// shardwright schema
struct SchemaRequest {
  std::optional<std::string> kind;  // absent = list of all kinds
};

// shardwright init
struct InitRequest {
  std::string kind = "problem";
};

// shardwright report
struct ReportRequest {
  Input answer;  // JSON that another command wrote
};

// Add the members of a request to `fields`.
void describe(SchemaRequest& request, Fields& fields);
void describe(InitRequest& request, Fields& fields);
void describe(ReportRequest& request, Fields& fields);

// Answer with the JSON Schema of a file kind (or the list of all kinds), and with a commented
// sample file. Errors: kInvalidInput at "kind" for an unknown kind, or for a kind without a sample.
Result<Answer> answer(const SchemaRequest& request, const Watch& watch);
Result<Answer> answer(const InitRequest& request, const Watch& watch);
// Returns a saved answer as text and page. Errors: those of reading; kInvalidInput if the document
// is no answer.
Result<Answer> answer(const ReportRequest& request, const Watch& watch);

}  // namespace shardwright::commands
