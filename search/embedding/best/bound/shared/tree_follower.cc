#include "search/embedding/best/bound/shared/tree_follower.h"

#include <memory>
#include <utility>

namespace shardwright::embedding {

void TreeFollower::begin(TreeStart start) {
  if (start.view == RankView::kPinned) views_.pin(*std::exchange(start.pins, std::nullopt), true);
  shared_ = &views_.view(start.view);
  shared_->share(std::move(start));
}

void TreeFollower::end_round() {
  for (const std::unique_ptr<TreeLane>& lane : shared_->lanes())
    lane->hand_over(shared_->tree());
}

}  // namespace shardwright::embedding
