// A saved answer of any command as text.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/io/json/json_document.h"

namespace shardwright::commands {

// The figures of the answer, a line each, and its lists as tables of at most kMostTextRows rows.
std::string saved_text(JsonValue answer, const std::string& title, std::size_t width);

}  // namespace shardwright::commands
