// What is to be resharded, from what, by which plan: the decisions that all ranks share.
#pragma once

#include <vector>

#include "search/program/emit/group_table.h"
#include "search/program/plan_store.h"
#include "search/program/requests/requests.h"

namespace shardwright::program {

// One application of a plan.
struct Decision {
  static constexpr std::uint32_t kOriginal = ~std::uint32_t{0};

  std::uint32_t request = 0;
  std::uint32_t source_wish = kOriginal;  // the copy it starts from
  const PlanStore::Entry* entry = nullptr;
};

// The same for an output.
struct OutputDecision {
  OutputRequest request;
  const PlanStore::Entry* entry = nullptr;
};

// Thread safety: const members may be called from any thread.
class Schedule {
 public:
  // Compat mode: a decision per request, each from the tensor itself; ranks that were served by
  // an earlier one skip it. Best mode: a decision per wish, from the cheapest of the tensor and its
  // copies so far. Errors: those of plans.
  static Result<Schedule> make(const Program& program, const Requests& requests, PlanStore& store,
                               Executor& executor);

  const std::vector<Decision>& decisions() const { return decisions_; }
  const std::vector<OutputDecision>& outputs() const { return outputs_; }
  const GroupTable& groups() const { return groups_; }

 private:
  explicit Schedule(const Program& program) : groups_(program.groups()) {}

  std::vector<Decision> decisions_;
  std::vector<OutputDecision> outputs_;
  GroupTable groups_;
};

// The shape of a variable with its batch dimension closed.
const Shape& full_shape(const Program& program, const Requests& requests, VarId id);

}  // namespace shardwright::program
