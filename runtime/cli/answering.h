// Asks for an answer and gives it out.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/status.h"
#include "runtime/cli/arguments.h"
#include "runtime/cli/crew.h"
#include "runtime/surface/answer.h"

namespace shardwright::cli {

// Calls `ask`. From its search on, until the answer is written, Ctrl-C stands for a request to
// stop. Prints warnings, writes the HTML page if the user asked for one, and writes JSON to the
// file or standard output if the user asked for it, else the table of --csv or the text to standard
// output. That the answer went to a file is said on standard error, in one line. Of several
// processes that a launcher started, only the first one writes. Returns the exit status. The crew
// may be null.
int respond_with(const OutputArguments& output, Crew* crew,
                 const std::function<Result<commands::Answer>(const commands::Watch&)>& ask);

}  // namespace shardwright::cli
