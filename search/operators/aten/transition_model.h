// The cost of moving a tensor between placements, by a model that the user selects, and the
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
  kAutoParallel,  // AutoParallel's estimate, plus 1 us per tensor that moves
};

struct TransitionModelOptions {
  RedistributionChoice choice = RedistributionChoice::kShortest;
  std::shared_ptr<const redistribution::CollectiveCosts> collectives;
  double memory_bytes_per_second = 0;  // for copies
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

  // Returns the moves of kShortest, even with another choice. Searches anew at each call.
  // Precondition: some sequence of moves leads to the target.
  redistribution::Path path(const AtenTensor& tensor, const redistribution::Placement& source,
                            const redistribution::Placement& target) const;

 private:
  class Searches;

  TransitionModelOptions options_;
  std::unique_ptr<Searches> searches_;
};

// A tensor whose placement differs from the placement that its consumer takes.
struct AtenMove {
  bool to_output = false;   // the consumer is an output of the graph
  std::uint32_t index = 0;  // of the node, or of the output of the graph
  std::uint32_t input = 0;  // of the node
  double us = 0;            // time of the move in the plan
  // The cheapest sequence of moves, even if the plan's time is AutoParallel's estimate.
  redistribution::Path path;
  std::int64_t sent_bytes = 0;  // of all steps, by the device that sends most

  friend bool operator==(const AtenMove&, const AtenMove&) = default;
};

// Returns the moves by node and input, then by output. Leaves out moves along axes of size 1.
// Searches once for each distinct move.
std::vector<AtenMove> moves_of(const AtenGraph& graph, const AtenPlan& plan,
                               const TransitionModel& transitions);

}  // namespace shardwright::operators
