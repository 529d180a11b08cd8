// Writes the list of options as a part of a larger JSON text.
#pragma once

#include "core/embedding/search_space.h"
#include "runtime/io/embedding/search_space/search_space_json.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// The list alone, as the writer's next value.
void write_options(const embedding::SearchSpace& space, ShardForm form, JsonWriter& json);

}  // namespace shardwright
