// Bound certificates in plan files.
#pragma once

#include "core/embedding/bound/bound_certificate.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// {"bound", "class_of_rank": [[class, ranks], ...] (consecutive ranks of one class), "nodes":
// [...]} in preorder; a node is {"cut": table index, "parts": [[option, classes], ...]} or a leaf
// {"prices": [[load, hbm, ddr], ...]}, with {"worths": [[option, run, worth], ...], "most_worth":
// [...]} where shards have a worth of their own. Options are indices into the search space, tables
// into the problem.
void write_certificate(const embedding::BoundCertificate& certificate, JsonWriter& json);

// Errors: kInvalidInput with the place. What the numbers prove is for check_bound to say.
Result<embedding::BoundCertificate> read_certificate(JsonValue value);

}  // namespace shardwright
