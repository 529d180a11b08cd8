#include "search/operators/autoshard/improve.h"

#include <string>
#include <utility>

namespace shardwright::operators::autoshard {

Result<ImproveResult> improve(const Request& request, const Oracle& oracle,
                              const std::function<void(const Iteration&)>& on_iteration) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_request(*request.graph, request.devices));
  ImproveResult result;
  std::int64_t bound = kFirstBound * request.devices;
  for (std::size_t index = 0; index < kMaxIterations; ++index) {
    std::optional<Assignment> found = oracle(bound);
    if (!found) {
      result.exhausted = true;
      break;
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(Evaluation evaluation,
                                 evaluate(*request.graph, *found, request.devices, request.model));
    if (evaluation.scaled_total >= bound) {
      return Error{ErrorCode::kVerificationFailed,
                   "the oracle's assignment does not cost less than the bound",
                   "/iterations/" + std::to_string(index)};
    }
    bound = evaluation.scaled_total;
    result.last = Iteration{index, *std::move(found), std::move(evaluation)};
    result.iterations = index + 1;
    on_iteration(*result.last);
  }
  return result;
}

}  // namespace shardwright::operators::autoshard
