// Reads requests for resharding paths and writes paths.
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

// Pairs of placements of one tensor on one mesh, for which paths are wanted.
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

// Reads a list of objects with `mesh`, `shape`, `pairs`, and optionally `alpha` and `beta` (default
// 1). Ignores what follows source and target in a row of `pairs`, so that an answer can be read as
// a request. Errors: kInvalidInput with a JSON pointer, or at line and column for invalid JSON.
Result<std::vector<ReshardQuestions>> read_reshard_questions(std::string_view text);
JsonShape reshard_questions_shape();

// Returns "all_gather", "all_to_all" or "shard".
std::string_view pattern_name(operators::ReshardPattern pattern);

// Writes the requests with a path and its cost for each pair; for kCompat and kSum, the costs of
// both kinds. `paths` has one list per request, with one path per pair.
void write_reshard_answers(std::span<const ReshardQuestions> questions,
                           std::span<const std::vector<operators::ReshardPath>> paths,
                           operators::PathCost mode, const TextSink& sink);
// Returns the shape of what write_reshard_answers() writes.
JsonShape reshard_answers_shape();

}  // namespace shardwright
