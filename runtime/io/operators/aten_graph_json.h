// Reads graphs of PyTorch operators.
#pragma once

#include <string_view>

#include "core/operators/aten/aten_graph.h"
#include "core/status.h"
#include "runtime/io/json/json_shape.h"

namespace shardwright {

// The value of `format` in a file with a traced model.
inline constexpr std::string_view kAtenGraphFormat = "shardwright.aten_graph";

// Returns true if the text looks like a traced model. Searches the text without parsing it.
bool is_aten_graph(std::string_view text);

// Errors (kInvalidInput with a JSON pointer): text that is no JSON, another format or version,
// unknown or missing keys, and those of AtenGraph::make.
Result<operators::AtenGraph> read_aten_graph(std::string_view text);
JsonShape aten_graph_shape();

}  // namespace shardwright
