// The commands about files as such: a request of each, and its answer.
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
  std::optional<std::string> kind;  // absent: the list of kinds
};

// shardwright init
struct InitRequest {
  std::string kind = "problem";
};

// shardwright report
struct ReportRequest {
  Input answer;  // what another command wrote as JSON
};

// The members of the requests.
void describe(SchemaRequest& request, Fields& fields);
void describe(InitRequest& request, Fields& fields);
void describe(ReportRequest& request, Fields& fields);

// Answer with the JSON Schema of a kind of file or the list of all kinds, and with a commented
// file. Errors: kInvalidInput at "kind" for an unknown kind, or one without a template.
Result<Answer> answer(const SchemaRequest& request, const Watch& watch);
Result<Answer> answer(const InitRequest& request, const Watch& watch);
// Answers with the text and the page of a saved answer. Errors: those of reading the answer;
// kInvalidInput if the document is no answer.
Result<Answer> answer(const ReportRequest& request, const Watch& watch);

}  // namespace shardwright::commands
