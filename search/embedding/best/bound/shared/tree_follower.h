// The part of a process that works on a tree whose proof another process has.
#pragma once

#include "search/embedding/best/bound/shared/rank_views.h"

namespace shardwright::embedding {

// Has the same lanes as the process of the proof. Each works in one process and stands still in
// the others, which hear what it did after every round: so all have the same open part of the tree.
// Thread safety: as TreeView.
class TreeFollower {
 public:
  // Keeps references to the model, to its pool and to the parameters.
  TreeFollower(const ChoiceModel& model, const BoundParameters& parameters)
      : views_(model, parameters) {}

  // As BoundProver.
  const ChoiceModel& model() const { return views_.model(); }
  bool is_only_aggregate() const { return views_.is_only_aggregate(); }
  void begin(TreeStart start);
  void end() { shared_ = nullptr; }
  // Null if there is none.
  TreeView* shared() { return shared_; }
  // Precondition: there is a shared tree, and the lanes of other processes stand for those.
  void end_round();

 private:
  RankViews views_;
  TreeView* shared_ = nullptr;
};

}  // namespace shardwright::embedding
