// Makes the flags of a command from the fields of its request.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "core/status.h"
#include "runtime/surface/fields.h"

namespace shardwright::cli {

// Adds a flag or a positional argument for every field. `fields` must outlive `command`. Parsing
// only stores the words; set_members() converts them.
void add_flags(CLI::App& command, commands::Fields& fields, bool shows_advanced = true);

// Converts the stored words and sets the members of the request. Errors: kInvalidInput at the flag.
Status set_members(const commands::Fields& fields);

// Replaces member names by flags, in `where` and in braces of the message.
Error in_flags(Error error, const commands::Fields& fields);
// Does the same for a note that may begin with a member, as in "ranks: ...".
std::string in_flags(const std::string& note, const commands::Fields& fields);

}  // namespace shardwright::cli
