// What moving a tensor between placements costs, under the model that the user chooses.
#pragma once

#include <cstdint>
#include <memory>

#include "core/operators/aten/transition_costs.h"
#include "core/redistribution/cost/collective_costs.h"

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

// Every transition is searched for once. With kShortest, nothing becomes partial that was not;
// slices copy at 70 % of the memory's bandwidth.
// Thread safety: microseconds() may be called from any thread.
class TransitionModel final : public TransitionCosts {
 public:
  explicit TransitionModel(TransitionModelOptions options);
  ~TransitionModel() override;

  double microseconds(const AtenTensor& tensor, const redistribution::Placement& source,
                      const redistribution::Placement& target) override;

  // The transitions that are known.
  std::size_t num_transitions() const;

 private:
  class Memory;

  double search(const AtenTensor& tensor, const redistribution::Placement& source,
                const redistribution::Placement& target) const;

  TransitionModelOptions options_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace shardwright::operators
