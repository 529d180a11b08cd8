// Reads questions for resharding paths and writes the answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/operators/mesh/device_mesh.h"
#include "core/operators/mesh/dim_spec.h"
#include "core/status.h"
#include "runtime/io/text_sink.h"
#include "search/operators/reshard/reshard_path.h"

namespace shardwright {

// Conversions of one tensor on one mesh.
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

// A list of objects `mesh`, `shape`, `pairs` and, where not 1 everywhere, `alpha` and `beta`. What
// rows of `pairs` hold beyond source and target is ignored, so that answers can be asked again.
// Errors: kInvalidInput with `where` = the JSON pointer, or line and column of a syntax error.
Result<std::vector<ReshardQuestions>> read_reshard_questions(std::string_view text);

// "all_gather", "all_to_all", "shard".
std::string_view pattern_name(operators::ReshardPattern pattern);

// The questions again, each pair with its path and costs; for kCompat and kSum both of these costs.
// `paths` has one list per question, one path per pair.
void write_reshard_answers(std::span<const ReshardQuestions> questions,
                           std::span<const std::vector<operators::ReshardPath>> paths,
                           operators::PathCost mode, const TextSink& sink);

}  // namespace shardwright
