// Which plan serves which request, and from which copy: the decisions that all ranks share.
#pragma once

#include <memory>
#include <vector>

#include "search/program/emit/group_table.h"
#include "search/program/plan_store.h"
#include "search/program/requests/requests.h"

namespace shardwright::program {

// A plan that serves a request.
struct Decision {
  static constexpr std::uint32_t kOriginal = ~std::uint32_t{0};

  std::uint32_t request = 0;
  // The wish whose copy it starts from, or the tensor itself.
  std::uint32_t source_wish = kOriginal;
  const PlanStore::Entry* entry = nullptr;
};

// A plan that serves an output.
struct OutputDecision {
  OutputRequest request;
  const PlanStore::Entry* entry = nullptr;
};

// Thread safety: const members may be called from any thread.
class Schedule {
 public:
  // Compat mode makes a decision per request, each starting from the tensor itself; a rank that an
  // earlier one served skips it. Best mode makes a decision per wish, which starts from the
  // cheapest of the tensor and its copies so far.
  // Errors: those of the plans; kInvalidInput if a tensor of sequences would be sent and no feed
  // has its level of detail.
  static Result<Schedule> make(const Program& program, const Requests& requests, PlanStore& store,
                               Executor& executor);

  const std::vector<Decision>& decisions() const { return decisions_; }
  const std::vector<OutputDecision>& outputs() const { return outputs_; }
  const GroupTable& groups() const { return groups_; }
  // The same as a value of the program, which all ranks share.
  const std::shared_ptr<const Communication>& communication() const { return communication_; }

 private:
  Schedule(const Program& program, bool compat) : groups_(program.communication(), compat) {}

  Status check_outputs(const Program& program, const Requests& requests) const;
  void add_output_groups(bool compat);

  std::vector<Decision> decisions_;
  std::vector<OutputDecision> outputs_;
  GroupTable groups_;
  std::shared_ptr<const Communication> communication_;
};

// The shape of the whole variable, with the batch size filled in.
const Shape& full_shape(const Program& program, const Requests& requests, VarId id);

}  // namespace shardwright::program
