#include "search/embedding/best/bound/shared/tree_follower.h"

#include <optional>
#include <utility>

namespace shardwright::embedding {

TreeFollower::TreeFollower(const ChoiceModel& model, const BoundParameters& parameters)
    : own_model_(model.rules().any() ? std::make_unique<ChoiceModel>(model.for_bounds()) : nullptr),
      model_(own_model_ ? own_model_.get() : &model),
      parameters_(&parameters),
      joint_(std::make_unique<TreeView>(BoundRows(*model_, false, parameters.classes), std::nullopt,
                                        parameters)) {}

void TreeFollower::begin(TreeStart start) {
  switch (start.view) {
    case RankView::kJoint:
      shared_ = joint_.get();
      break;
    case RankView::kPinned: {
      BoundRows rows = pinned_rows(*model_, *start.pins);
      pinned_ = std::make_unique<TreeView>(std::move(rows), std::move(start.pins), *parameters_);
      shared_ = pinned_.get();
      break;
    }
    case RankView::kSeparate:
      if (!separate_) {
        separate_ = std::make_unique<TreeView>(BoundRows(*model_, true, parameters_->classes),
                                               std::nullopt, *parameters_);
      }
      shared_ = separate_.get();
      break;
  }
  shared_->share(std::move(start));
}

void TreeFollower::end_round() {
  for (const std::unique_ptr<TreeLane>& lane : shared_->lanes())
    lane->hand_over(shared_->tree());
}

}  // namespace shardwright::embedding
