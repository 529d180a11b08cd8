// Random ranks for the moves of the annealer.
#pragma once

#include <cstdint>

#include "search/embedding/best/parameters/annealing_parameters.h"
#include "search/embedding/model/rank_state/energy_placer.h"
#include "search/random.h"

namespace shardwright::embedding {

// Thread safety: one thread at a time. Refers to everything that it is given.
class RankSampler {
 public:
  RankSampler(const AllocationState& state, EnergyPlacer& placer, RandomGenerator& random,
              const MoveParameters& parameters)
      : state_(&state), placer_(&placer), random_(&random), parameters_(&parameters) {}

  // The rank of the highest energy among a few random ones.
  Rank draw_loaded();
  // A rank of the window for the shard: any one, or the best of a few.
  Rank draw_target(const ShardUse& use, Window window);
  // How many ranks are compared for one shard of a new choice.
  std::uint32_t breadth();

 private:
  const AllocationState* state_;
  EnergyPlacer* placer_;
  RandomGenerator* random_;
  const MoveParameters* parameters_;
};

}  // namespace shardwright::embedding
