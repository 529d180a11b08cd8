// Reads requests for resharding paths and writes the paths.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/operators/graph/sharding_spec.h"
#include "core/status.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "search/operators/strategies/reshard_path.h"

namespace shardwright {

// Requests for conversions of one tensor on one mesh.
// Thread safety: a value.
struct ReshardQuestions {
  struct Pair {
    operators::DimSpecs from;
    operators::DimSpecs to;
  };

  std::shared_ptr<const operators::DeviceMesh> mesh;
  std::vector<std::int64_t> shape;
  std::vector<Pair> pairs;  // valid for mesh and shape
};

// Reads a list of objects with `mesh`, `shape`, `pairs` and optionally `alpha` and `beta`, which
// default to 1. In each row of `pairs`, ignores what follows source and target, so that an answer
// file can be read as a request.
// Errors: kInvalidInput; `where` is a JSON pointer, or line and column of a syntax error.
Result<std::vector<ReshardQuestions>> read_reshard_questions(std::string_view text);
JsonShape reshard_questions_shape();

// Returns "all_gather", "all_to_all" or "shard".
std::string_view pattern_name(operators::ReshardPattern pattern);

// Writes the requests with a path and its cost for each pair. For kCompat and kSum, writes the
// costs of both kinds. `paths` has one list per request, with one path per pair.
void write_reshard_answers(std::span<const ReshardQuestions> questions,
                           std::span<const std::vector<operators::ReshardPath>> paths,
                           operators::PathCost mode, const TextSink& sink);
// What write_reshard_answers() writes.
JsonShape reshard_answers_shape();

}  // namespace shardwright
