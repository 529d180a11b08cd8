// Writes the options of a search space as part of a larger JSON text.
#pragma once

#include "core/embedding/search_space.h"
#include "runtime/io/embedding/search_space/search_space_json.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// Writes the list of options as the next value of `json`.
void write_options(const embedding::SearchSpace& space, ShardForm form, JsonWriter& json);

}  // namespace shardwright
