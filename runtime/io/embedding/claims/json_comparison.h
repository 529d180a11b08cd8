// Compares a JSON value of a plan file with the value that was recomputed.
#pragma once

#include "runtime/embedding/claim_checker.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// Which members an object of the file must have.
enum class Members {
  kAll,   // those that were recomputed, and no others
  kSome,  // no others than those that were recomputed
};

// Compares values at any depth. Numbers may differ by ClaimChecker::kTolerance. Reports every
// difference with its place, unless one is known there. O(size of both).
void compare_values(JsonValue claimed, JsonValue found, Members members, ClaimChecker& claims);

// Compares keys, lengths of lists and types of values, but no values.
void compare_keys(JsonValue claimed, JsonValue found, Members members, ClaimChecker& claims);

}  // namespace shardwright
