#include "search/embedding/best/bound/shared/rank_views.h"

#include <optional>
#include <utility>

namespace shardwright::embedding {

RankViews::RankViews(const ChoiceModel& model, const BoundParameters& parameters)
    : own_model_(model.rules().any() ? std::make_unique<ChoiceModel>(model.for_bounds()) : nullptr),
      model_(own_model_ ? own_model_.get() : &model),
      parameters_(&parameters) {
  view(RankView::kJoint);
}

TreeView& RankViews::view(RankView which) {
  std::unique_ptr<TreeView>& own = of(which);
  if (!own) {
    BoundRows rows(*model_, which == RankView::kSeparate, parameters_->classes);
    own = std::make_unique<TreeView>(std::move(rows), std::nullopt, *parameters_);
  }
  return *own;
}

void RankViews::pin(Pins pins) {
  BoundRows rows = pinned_rows(*model_, pins);
  auto pinned = std::make_unique<TreeView>(std::move(rows), std::move(pins), *parameters_);
  if (is_only_aggregate() || !pinned->is_too_large()) of(RankView::kPinned) = std::move(pinned);
}

void RankViews::plant_again() {
  for (const std::unique_ptr<TreeView>& own : views_) {
    if (own) own->plant_again();
  }
}

}  // namespace shardwright::embedding
