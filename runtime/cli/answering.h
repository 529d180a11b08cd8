// Asks for an answer and writes the answer in the form that the user chose.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/status.h"
#include "runtime/cli/arguments.h"
#include "runtime/cli/process_group.h"
#include "runtime/surface/answer.h"

namespace shardwright::cli {

// Calls `ask`, writes the answer and returns the exit status. From the beginning of the search
// until the answer is written, Ctrl-C requests a stop. Output, in this order: warnings; the HTML
// page if requested; the JSON to its file or standard output if requested, otherwise the table of
// --csv or the text to standard output; a line on standard error if the answer went to a file. Of
// several processes that a launcher started, only the first one writes. `group` may be null.
int respond_with(const OutputArguments& output, ProcessGroup* group,
                 const std::function<Result<commands::Answer>(const commands::Watch&)>& ask);

}  // namespace shardwright::cli
