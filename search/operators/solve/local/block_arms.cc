#include "search/operators/solve/local/block_arms.h"

#include <algorithm>
#include <cstddef>

namespace shardwright::operators {

BlockArms::BlockArms(const ArmParameters& parameters, bool any_holders)
    : fade_(parameters.fade), least_share_(parameters.least_share) {
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
  arms_.push_back({{kind, size, max_table}, 1.0, static_cast<double>(size * max_table)});
}

void BlockArms::update_shares() {
  double sum = 0;
  for (const Arm& arm : arms_)
    sum += arm.gain / arm.work;
  double before = 0;
  for (std::size_t a = 0; a < arms_.size(); ++a) {
    const double rate = sum > 0 ? arms_[a].gain / arms_[a].work / sum : 0.0;
    shares_[a] = before += std::max(rate, least_share_);
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
    arm.work *= fade_;
  }
}

}  // namespace shardwright::operators
