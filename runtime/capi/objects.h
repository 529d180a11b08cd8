// The type of object behind each kind of handle.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/search_space.h"
#include "runtime/capi/answer_texts.h"
#include "runtime/capi/handle_table.h"
#include "runtime/capi/shardwright_types.h"
#include "runtime/embedding/planner.h"

namespace shardwright::capi {

// Stops all planning calls that were given the handle.
// Thread safety: may be used from any thread.
struct CancelToken {
  std::stop_source source;
};

// A result whose options have numbers. Immutable.
struct PlannedResult {
  explicit PlannedResult(std::shared_ptr<const EmbeddingPlanResult> planned)
      : owner(std::move(planned)), result(*owner) {}

  std::shared_ptr<const EmbeddingPlanResult> owner;
  const EmbeddingPlanResult& result;
  // The result's search space plus the plan's options outside it. Null if nothing was enumerated.
  std::shared_ptr<const embedding::SearchSpace> space;
  std::vector<std::uint32_t> options;       // by position in the plan: index in `space`
  std::uint64_t num_shards = 0;             // of the plan
  std::shared_ptr<const PlanDocument> old;  // the plan before a replan, else null
};

// Numbers the options of the result's plan. Cost: O(options of the plan).
std::shared_ptr<const PlannedResult> number_options(
    std::shared_ptr<const EmbeddingPlanResult> shared,
    std::shared_ptr<const PlanDocument> old = nullptr);

template <class Handle>
struct ObjectOf;
template <>
struct ObjectOf<shardwright_problem> {
  using Type = embedding::Problem;
  static constexpr HandleKind kKind = HandleKind::kProblem;
};
template <>
struct ObjectOf<shardwright_search_space> {
  using Type = embedding::SearchSpace;
  static constexpr HandleKind kKind = HandleKind::kSearchSpace;
};
template <>
struct ObjectOf<shardwright_cancel> {
  using Type = CancelToken;
  static constexpr HandleKind kKind = HandleKind::kCancel;
};
template <>
struct ObjectOf<shardwright_result> {
  using Type = PlannedResult;
  static constexpr HandleKind kKind = HandleKind::kResult;
};
template <>
struct ObjectOf<shardwright_answer> {
  using Type = AnswerTexts;
  static constexpr HandleKind kKind = HandleKind::kAnswer;
};

}  // namespace shardwright::capi
