// Finds and stores redistributions of tensors of one shape on one mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "core/interner.h"
#include "search/once_map.h"
#include "search/redistribution/cheapest_path.h"

namespace shardwright::redistribution {

// Searches once for each pair of source and target, and keeps the paths.
// Thread safety: every member may be called from any thread.
class RedistributionPlanner {
 public:
  RedistributionPlanner(TensorOnMesh tensor, std::shared_ptr<const StepCosts> costs,
                        const MoveRules& rules = {}, const PathLimits& limits = {});

  // Preconditions: both placements fit the shape. The path lives as long as the planner. A known
  // path takes O(1), without a lock or an allocation. Threads that ask for the same new path at
  // once may all search; one result is kept.
  const Path& path(const Placement& source, const Placement& target);

  const TensorOnMesh& tensor() const { return tensor_; }

 private:
  struct Question {
    std::uint64_t source;
    std::uint64_t target;

    friend bool operator==(const Question&, const Question&) = default;
  };
  struct QuestionHash {
    std::uint64_t operator()(const Question& question) const {
      return hash_mix(question.source, question.target);
    }
  };

  TensorOnMesh tensor_;
  std::shared_ptr<const StepCosts> costs_;
  MoveRules rules_;
  PathLimits limits_;
  OnceMap<Question, Path, QuestionHash> paths_;
};

}  // namespace shardwright::redistribution
