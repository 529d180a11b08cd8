// Reads and writes the certificate of a plan's lower bound.
#pragma once

#include "core/embedding/bound/bound_certificate.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// Writes {"bound" (null if no plan exists), "class_of_rank": [[class, ranks], ...] (runs of
// consecutive ranks of one class), "nodes": [...] (in preorder)}. A node that branches is {"cut":
// table, "parts": [[option, classes], ...]}, where `parts` are the options of its first child. A
// leaf is {"prices": [[load, hbm, ddr], ...]}, the multipliers of every class. A pattern leaf also
// has {"shard_duals": [[option, run, value], ...], "max_pattern_values": [...]} and may have
// "whole_prices", like "prices". A leaf that was proved by search has {"by_search": true}. Options
// are indices into the search space, tables into the problem. "worths" and "most_worth", the names
// of "shard_duals" and "max_pattern_values" in earlier versions, are still read.
void write_certificate(const embedding::BoundCertificate& certificate, JsonWriter& json);

// Checks only the syntax, not the proof. Errors: kInvalidInput with a JSON pointer.
Result<embedding::BoundCertificate> read_certificate(JsonValue value);

// What read_certificate() reads.
JsonShape certificate_shape();

}  // namespace shardwright
