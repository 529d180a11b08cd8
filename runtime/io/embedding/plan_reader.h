// Reads a plan file that lies inside another one.
#pragma once

#include "core/embedding/document/plan_document.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_shape.h"

namespace shardwright {

// Like read_plan() of a text. Errors: kInvalidInput; `where` is a JSON pointer in the whole text.
Result<PlanDocument> read_plan(JsonValue root);

// A plan file.
JsonShape plan_shape();

}  // namespace shardwright
