// The views of the ranks that a proof has, each with its tree.
#pragma once

#include <array>
#include <memory>

#include "search/embedding/best/bound/shared/tree_view.h"
#include "search/embedding/best/parameters/bound_parameters.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// With placement rules it works on model.for_bounds(): a bound must hold for all options that the
// check of a certificate counts, and the check drops only options that the rules of their own
// table leave no place. A view stays where it is until the pins are replaced.
// Thread safety: as TreeView. Keeps references to the model, to its pool and to the parameters.
class RankViews {
 public:
  RankViews(const ChoiceModel& model, const BoundParameters& parameters);
  RankViews(const RankViews&) = delete;
  RankViews& operator=(const RankViews&) = delete;

  // What is proved about: the model that was given, or one without placement rules.
  const ChoiceModel& model() const { return *model_; }
  bool has_own_model() const { return own_model_ != nullptr; }
  // The program would be too large for trees.
  bool is_only_aggregate() const { return of(RankView::kJoint)->is_too_large(); }

  // Made when it is first asked for. Precondition of kPinned: pin() made it.
  TreeView& view(RankView which);
  // Where all hosts count as equal: with pins, if there are any.
  RankView joint() const { return of(RankView::kPinned) ? RankView::kPinned : RankView::kJoint; }
  // Null if there are none.
  const Pins* pins() const {
    return of(RankView::kPinned) ? of(RankView::kPinned)->pinned() : nullptr;
  }
  // Replaces the pins and their tree. If the program with them would be too large for trees, and the
  // one without is not, nothing changes.
  void pin(Pins pins);
  // Begins all trees anew.
  void plant_again();

 private:
  const std::unique_ptr<TreeView>& of(RankView which) const {
    return views_[static_cast<std::size_t>(which)];
  }
  std::unique_ptr<TreeView>& of(RankView which) { return views_[static_cast<std::size_t>(which)]; }

  std::unique_ptr<const ChoiceModel> own_model_;  // only with placement rules
  const ChoiceModel* model_;
  const BoundParameters* parameters_;
  std::array<std::unique_ptr<TreeView>, kRankViews> views_;  // null until needed, but for kJoint
};

}  // namespace shardwright::embedding
