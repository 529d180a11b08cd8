// Reads a plan file that is a part of a larger JSON document.
#pragma once

#include "core/embedding/document/plan_document.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_shape.h"

namespace shardwright {

// As read_plan() of a text. Errors: kInvalidInput; `where` is a JSON pointer in the whole document.
Result<PlanDocument> read_plan(JsonValue root);

// Returns the shape of a plan file.
JsonShape plan_shape();

}  // namespace shardwright
