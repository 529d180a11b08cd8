#include "search/embedding/best/bound/shared/tree_view.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {

TreeView::TreeView(BoundRows rows, std::optional<Pins> pins, const BoundParameters& parameters)
    : parameters_(&parameters),
      rows_(std::move(rows)),
      pins_(std::move(pins)),
      branching_(rows_, parameters.branching),
      tree_(rows_, pinned()),
      lanes_(parameters.targets.tree_lanes) {
  lanes_.front() = std::make_unique<TreeLane>(tree_, rows_, branching_, parameters);
}

bool TreeView::is_too_large() const {
  return lanes_.front()->relaxation().columns().max_rows() > parameters_->max_master_rows;
}

void TreeView::share(double target, const NodeLimits& limits, PricingKnowledge known) {
  const auto lesson = std::make_shared<const PricingKnowledge>(std::move(known));
  for (std::unique_ptr<TreeLane>& lane : lanes_) {
    if (lane == lanes_.front()) continue;
    if (!lane) lane = std::make_unique<TreeLane>(tree_, rows_, branching_, *parameters_);
    lane->begin(target, limits);
    lane->learn(lesson);
  }
}

void TreeView::deal_out() {
  for (const std::unique_ptr<TreeLane>& lane : lanes_) {
    if (!lane->is_idle()) continue;
    const auto fullest = std::max_element(lanes_.begin(), lanes_.end(), [](auto& a, auto& b) {
      return a->num_waiting() < b->num_waiting();
    });
    if ((*fullest)->num_waiting() == 0) break;
    lane->take_half(**fullest);
  }
}

}  // namespace shardwright::embedding
