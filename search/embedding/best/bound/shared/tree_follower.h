// The part of a process that works on a tree whose proof another process has.
#pragma once

#include <memory>

#include "search/embedding/best/bound/shared/tree_view.h"

namespace shardwright::embedding {

// Has the same lanes as the process of the proof. Each works in one process and stands still in
// the others, which hear what it did after every round: so all have the same open part of the tree.
// Thread safety: as TreeView.
class TreeFollower {
 public:
  // Keeps references to the model, to its pool and to the parameters.
  TreeFollower(const ChoiceModel& model, const BoundParameters& parameters);
  TreeFollower(const TreeFollower&) = delete;
  TreeFollower& operator=(const TreeFollower&) = delete;

  // As BoundProver.
  const ChoiceModel& model() const { return *model_; }
  bool is_only_aggregate() const { return joint_->is_too_large(); }
  void begin(TreeStart start);
  void end() { shared_ = nullptr; }
  // Null if there is none.
  TreeView* shared() { return shared_; }
  // Precondition: there is a shared tree, and the lanes of other processes stand for those.
  void end_round();

 private:
  std::unique_ptr<const ChoiceModel> own_model_;  // only with placement rules
  const ChoiceModel* model_;
  const BoundParameters* parameters_;
  std::unique_ptr<TreeView> joint_;
  std::unique_ptr<TreeView> pinned_;    // null until needed
  std::unique_ptr<TreeView> separate_;  // null until needed
  TreeView* shared_ = nullptr;
};

}  // namespace shardwright::embedding
