#include "search/operators/solve/local/block_arms.h"

#include <algorithm>
#include <cstddef>

namespace shardwright::operators {

BlockArms::BlockArms(const ArmParameters& parameters, bool any_holders)
    : fade_(parameters.fade),
      least_share_(parameters.least_share),
      forgotten_(parameters.forgotten) {
  for (const std::uint32_t size : parameters.sizes) {
    add(BlockKind::kBall, size, parameters.table);
    add(BlockKind::kWindow, size, parameters.table);
    if (any_holders) add(BlockKind::kHolders, size, parameters.table);
  }
  add(BlockKind::kBall, parameters.largest_ball, parameters.large_table);
  add(BlockKind::kFollow, parameters.follow_size, parameters.table);
  for (const std::uint32_t size : parameters.stiff_sizes) {
    add(BlockKind::kStiff, size, parameters.table);
    add(BlockKind::kStiff, size, parameters.large_table);
  }
  shares_.resize(arms_.size());
}

// Nothing is known at first, so all arms gained the same and large blocks took more work.
void BlockArms::add(BlockKind kind, std::uint32_t size, std::size_t max_table) {
  arms_.push_back({{kind, size, max_table}, 1.0, 1.0, static_cast<double>(size * max_table)});
}

void BlockArms::update_shares() {
  double rates = 0;
  double blocks = 0;
  double work = 0;
  for (const Arm& arm : arms_) {
    rates += arm.gain / arm.work;
    blocks += arm.blocks;
    work += arm.work;
  }
  double before = 0;
  for (std::size_t a = 0; a < arms_.size(); ++a) {
    const Arm& arm = arms_[a];
    const double rate = rates > 0 ? arm.gain / arm.work / rates : 0.0;
    const double affordable =
        arm.blocks < forgotten_ ? 1.0 : std::min(1.0, work / blocks * arm.blocks / arm.work);
    shares_[a] = before += std::max(rate, least_share_ * affordable);
  }
}

std::uint32_t BlockArms::draw(RandomGenerator& random) const {
  const double point = random.fraction() * shares_.back();
  std::uint32_t arm = 0;
  while (arm + 1 < arms_.size() && shares_[arm] <= point)
    ++arm;
  return arm;
}

void BlockArms::fade() {
  for (Arm& arm : arms_) {
    arm.gain *= fade_;
    arm.blocks *= fade_;
    arm.work *= fade_;
  }
}

}  // namespace shardwright::operators
