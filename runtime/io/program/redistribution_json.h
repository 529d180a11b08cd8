// Redistribution files and their answers.
#pragma once

#include <span>
#include <string_view>

#include "core/status.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "runtime/redistribution/plan_redistribution.h"

namespace shardwright {

namespace internal {

// Return the shapes of the names of moves and of reductions.
JsonShape move_shape();
JsonShape reduce_op_shape();

}  // namespace internal

// A redistribution file: a tensor with two placements, the cost model and limits.
struct RedistributionDocument {
  RedistributionCase request;
  RedistributionOptions options;
};

// Errors (kInvalidInput with a JSON pointer): text that is no JSON, unknown or missing keys, words
// that are no placement, a list whose length is not that of the mesh.
Result<RedistributionDocument> read_redistribution(std::string_view text);

void write_redistribution(const RedistributionDocument& document,
                          const PlannedRedistribution& answer, const TextSink& sink);

// Writes the first path, and all paths under "front". Precondition: `front` is not empty.
void write_redistribution_front(const RedistributionDocument& document,
                                std::span<const PlannedRedistribution> front, const TextSink& sink);

JsonShape redistribution_shape();
JsonShape redistribution_answer_shape();

}  // namespace shardwright
