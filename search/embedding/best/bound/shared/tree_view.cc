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

void TreeView::share(TreeStart start) {
  tree_.become(start.part);
  first_lane().begin(start.target, start.limits);
  first_lane().stand_for(std::move(start.first_lane));
  share(start.target, start.limits, std::move(start.known));
}

std::vector<LeafTransfer> TreeView::deal_out() {
  std::vector<LeafTransfer> transfers;
  for (std::uint32_t to = 0; to < lanes_.size(); ++to) {
    if (!lanes_[to]->is_idle()) continue;
    const auto fullest = std::max_element(lanes_.begin(), lanes_.end(), [](auto& a, auto& b) {
      return a->num_waiting() < b->num_waiting();
    });
    if ((*fullest)->num_waiting() == 0) break;
    transfers.push_back({to, static_cast<std::uint32_t>(fullest - lanes_.begin())});
    transfer({&transfers.back(), 1});
  }
  return transfers;
}

void TreeView::transfer(std::span<const LeafTransfer> transfers) {
  for (const LeafTransfer& one : transfers)
    lanes_[one.to]->take_half(*lanes_[one.from]);
}

TreeStart TreeView::start(RankView view, double target, std::uint64_t node_work) {
  TreeStart start;
  start.view = view;
  start.pins = pins_;
  start.target = target;
  start.limits = {node_work, 0, first_lane().may_divide()};
  start.part = tree_.open_part(target);
  start.first_lane = first_lane().report();
  start.known = first_lane().relaxation().columns().known();
  return start;
}

}  // namespace shardwright::embedding
