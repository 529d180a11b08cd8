// Asks for an answer and gives it out.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/status.h"
#include "runtime/cli/options/arguments.h"
#include "runtime/cli/processes/crew.h"
#include "runtime/commands/answer.h"

namespace shardwright::cli {

// Adds --report if the command is built with HTML pages.
void add_report_argument(CLI::App& command, OutputArguments& arguments);

// The exit status that says what became of a request.
int exit_code_of(commands::Outcome outcome);

// Calls `ask`. From its search on, until the answer is written, Ctrl-C stands for a request to
// stop. Prints warnings, writes the HTML page if the user asked for one, and writes JSON to the
// file or standard output if the user asked for it, else the table of --csv or the text to standard
// output. That the answer went to a file is said on standard error, in one line. Of several
// processes that a launcher started, only the first one writes. Returns the exit status. The crew
// may be null.
int respond_with(const OutputArguments& output, Crew* crew,
                 const std::function<Result<commands::Answer>(const commands::Watch&)>& ask);

// The same for a request of `runtime/commands`, or for what is wrong with it.
template <class Request>
int respond(const OutputArguments& output, const Result<Request>& request) {
  if (!request.ok()) return fail(request.error());
  return respond_with(output, nullptr,
                      [&](const commands::Watch& watch) { return answer(*request, watch); });
}

}  // namespace shardwright::cli
