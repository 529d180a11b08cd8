// The cost of moving a tensor between placements, by a model of the user's choice, and the
// collectives that move the tensors of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/operators/aten/aten_plan.h"
#include "core/redistribution/cost/collective_costs.h"
#include "search/redistribution/cheapest_path.h"

namespace shardwright::operators {

enum class RedistributionChoice : std::uint8_t {
  kShortest,      // the cheapest sequence of moves that the planner finds
  kAutoParallel,  // AutoParallel's estimate, and 1 more for every tensor that moves
};

struct TransitionModelOptions {
  RedistributionChoice choice = RedistributionChoice::kShortest;
  std::shared_ptr<const redistribution::CollectiveCosts> collectives;
  double memory_bytes_per_second = 0;  // of copies
};

// With kShortest, moves create no partial placements, slices are copied at 70 % of the memory's
// bandwidth, and tensors with equal pieces share searches. Thread safety: every member may be
// called from any thread.
class TransitionModel final : public TransitionCosts {
 public:
  explicit TransitionModel(TransitionModelOptions options);
  ~TransitionModel() override;

  double microseconds(const AtenTensor& tensor, const redistribution::Placement& source,
                      const redistribution::Placement& target) override;
  std::vector<double> table(const AtenTensor& tensor,
                            std::span<const redistribution::Placement> sources,
                            std::span<const redistribution::Placement> targets) override;

  // The moves of kShortest, whatever the choice is. Searches anew at each call. Precondition: some
  // sequence of moves leads to the target.
  redistribution::Path path(const AtenTensor& tensor, const redistribution::Placement& source,
                            const redistribution::Placement& target) const;

 private:
  class Searches;

  TransitionModelOptions options_;
  std::unique_ptr<Searches> searches_;
};

// A tensor whose placement differs from the one that its consumer takes.
struct AtenMove {
  bool to_output = false;   // of the graph, instead of to a node
  std::uint32_t index = 0;  // of the node, or of the output of the graph
  std::uint32_t input = 0;  // of the node
  double us = 0;            // as in the plan
  // The cheapest sequence of moves, also where the plan's time is AutoParallel's estimate.
  redistribution::Path path;
  std::int64_t sent_bytes = 0;  // by the device that sends most, in all steps

  friend bool operator==(const AtenMove&, const AtenMove&) = default;
};

// Returns the moves by node and input, then by output. Leaves out moves along axes of one device.
// Searches once for each kind of move.
std::vector<AtenMove> moves_of(const AtenGraph& graph, const AtenPlan& plan,
                               const TransitionModel& transitions);

}  // namespace shardwright::operators
