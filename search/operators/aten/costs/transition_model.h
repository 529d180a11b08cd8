// What moving a tensor between placements costs, under the model that the user chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/operators/aten/plan/transition_costs.h"
#include "core/redistribution/cost/collective_costs.h"
#include "search/redistribution/path/path.h"

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

// With kShortest, nothing becomes partial that was not, slices copy at 70 % of the memory's
// bandwidth, and tensors whose pieces are alike share the searches. Thread safety: every member may
// be called from any thread.
class TransitionModel final : public TransitionCosts {
 public:
  explicit TransitionModel(TransitionModelOptions options);
  ~TransitionModel() override;

  double microseconds(const AtenTensor& tensor, const redistribution::Placement& source,
                      const redistribution::Placement& target) override;
  std::vector<double> table(const AtenTensor& tensor,
                            std::span<const redistribution::Placement> sources,
                            std::span<const redistribution::Placement> targets) override;

  // The moves of kShortest, whatever the choice is. A search of its own. Precondition: such moves
  // lead there.
  redistribution::Path path(const AtenTensor& tensor, const redistribution::Placement& source,
                            const redistribution::Placement& target) const;

 private:
  class Searches;

  TransitionModelOptions options_;
  std::unique_ptr<Searches> searches_;
};

}  // namespace shardwright::operators
