// Which shapes of blocks the local search tries, and how often.
#pragma once

#include <cstdint>
#include <vector>

#include "search/operators/solve/local/block/block_picker.h"
#include "search/operators/solve/parameters/local_search_parameters.h"
#include "search/random.h"

namespace shardwright::operators {

// Draws shapes in proportion to what they gained per unit of work, recent batches first. Every
// shape keeps a least share of the blocks; one whose blocks take more work than the mean, of the
// work, unless it was not tried for so long that this is not known any more.
// Thread safety: const members may be called from any thread.
class BlockArms {
 public:
  // Without holders of memory, shapes around holders are left out.
  BlockArms(const ArmParameters& parameters, bool any_holders);

  const BlockShape& shape(std::uint32_t arm) const { return arms_[arm].shape; }

  // Computes the shares that draw() uses. Call it before each batch.
  void update_shares();
  std::uint32_t draw(RandomGenerator& random) const;

  // Lets past gains and work count less. Call it once per batch.
  void fade();
  void add_block(std::uint32_t arm, double work) {
    arms_[arm].blocks += 1;
    arms_[arm].work += work;
  }
  void add_gain(std::uint32_t arm, double gain) { arms_[arm].gain += gain; }

 private:
  struct Arm {
    BlockShape shape;
    double gain;
    double blocks;
    double work;
  };

  void add(BlockKind kind, std::uint32_t size, std::size_t max_table);

  double fade_;
  double least_share_;
  double forgotten_;
  std::vector<Arm> arms_;
  std::vector<double> shares_;  // by arm: its share plus those of the arms before it
};

}  // namespace shardwright::operators
