// Redistribution files, and the answer to one.
#pragma once

#include <span>
#include <string_view>

#include "core/status.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "runtime/redistribution/plan_redistribution.h"

namespace shardwright {

namespace internal {

// The names of a move and of a reduction.
JsonShape move_shape();
JsonShape reduce_op_shape();

}  // namespace internal

// A tensor with two placements, the costs and the limits under which it moves.
struct RedistributionDocument {
  RedistributionCase request;
  RedistributionOptions options;
};

// Errors (kInvalidInput with the JSON pointer): text that is no JSON, unknown or missing keys,
// words that are no placement, a list of another length than the mesh.
Result<RedistributionDocument> read_redistribution(std::string_view text);

void write_redistribution(const RedistributionDocument& document,
                          const PlannedRedistribution& answer, const TextSink& sink);

// Writes the first path and, under "front", all paths. Precondition: at least one path.
void write_redistribution_front(const RedistributionDocument& document,
                                std::span<const PlannedRedistribution> front, const TextSink& sink);

JsonShape redistribution_shape();
JsonShape redistribution_answer_shape();

}  // namespace shardwright
