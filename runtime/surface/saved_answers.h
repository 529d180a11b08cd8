// The text of a saved answer of any command.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/io/json/json_document.h"

namespace shardwright::commands {

// Returns the answer's figures, one per line, and its lists as tables of at most kMostTextRows
// rows.
std::string saved_text(JsonValue answer, const std::string& title, std::size_t width);

}  // namespace shardwright::commands
