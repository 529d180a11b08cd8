// Reads a plan file that is a part of a larger JSON document.
#pragma once

#include "core/embedding/document/plan_document.h"
#include "core/status.h"
#include "runtime/io/embedding/problem_overrides.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_shape.h"

namespace shardwright {

// As read_plan() of a text. Errors: kInvalidInput; `where` is a JSON pointer in the whole document.
Result<PlanDocument> read_plan(JsonValue root);

// Reads `overrides` of a plan file alone: the members of the request with which the problem was
// read. Errors: as read_plan().
Result<ProblemOverrides> read_plan_overrides(JsonValue root);

// Returns the shape of a plan file.
JsonShape plan_shape();

}  // namespace shardwright
