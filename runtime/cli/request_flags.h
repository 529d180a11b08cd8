// The flags of a request, made from its description.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "core/status.h"
#include "runtime/surface/fields.h"

namespace shardwright::cli {

// Adds a flag or a positional argument for every field. `fields` must outlive `command`. Parsing
// only stores the words; set_members() reads them.
void add_flags(CLI::App& command, commands::Fields& fields);

// Sets the members of the request from the words. Errors: kInvalidInput at the flag.
Status set_members(const commands::Fields& fields);

// Returns the error with flags instead of member names, in `where` and in the message's braces.
Error in_flags(Error error, const commands::Fields& fields);
// The same for a note that may begin with a member: "ranks: ...".
std::string in_flags(const std::string& note, const commands::Fields& fields);

}  // namespace shardwright::cli
