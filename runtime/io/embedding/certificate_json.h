// Reads and writes the certificates of lower bounds.
#pragma once

#include "core/embedding/bound/bound_certificate.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// Writes an object with three members:
// - "bound": null if no plan exists.
// - "class_of_rank": [[class, ranks], ...], runs of consecutive ranks of one class.
// - "nodes": the nodes of the proof tree in preorder.
// An inner node is {"cut": table, "parts": [[option, classes], ...]}; "parts" are the options of
// its first child. With several tables, "cut" is a list and "count" is set. Instead, a node may
// have {"uniform": {"class": rank class, "load" or a memory tier: number}}. A leaf is {"prices":
// [[load, hbm, ddr], ...]}, the multipliers of every class. A pattern leaf also has {"shard_duals":
// [[option, run, value], ...], "max_pattern_values": [...]} and optionally "whole_prices", in the
// form of "prices". A leaf proved by search has {"by_search": true}. Options are indices into the
// search space, tables into the problem. The reader also accepts "worths" and "most_worth", the
// earlier names of "shard_duals" and "max_pattern_values".
void write_certificate(const embedding::BoundCertificate& certificate, JsonWriter& json);

// Checks the syntax but not the proof. Errors: kInvalidInput with a JSON pointer.
Result<embedding::BoundCertificate> read_certificate(JsonValue value);

// Returns the shape that read_certificate() reads.
JsonShape certificate_shape();

}  // namespace shardwright
